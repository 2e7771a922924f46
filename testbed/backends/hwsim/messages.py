"""The messages of mac80211_hwsim: how radios are made, and how frames come to the medium and go back.

Numbers and layouts are those of the kernel's drivers/net/wireless/virtual/mac80211_hwsim.h. There are many frames, so
they are unpacked and packed here by offsets, and everything that repeats is packed once.
"""

from __future__ import annotations

import struct
from functools import cache, lru_cache
from typing import NamedTuple

from testbed.backends.hwsim.netlink import HEADER, REQUEST, attribute, attributes_of, u32

FAMILY = "MAC80211_HWSIM"

REGISTER, FRAME, TX_INFO_FRAME, NEW_RADIO, DEL_RADIO, GET_RADIO = 1, 2, 3, 4, 5, 6
ADDR_RECEIVER, ADDR_TRANSMITTER, ATTR_FRAME, FLAGS, RX_RATE, SIGNAL, TX_INFO, COOKIE = 1, 2, 3, 4, 5, 6, 7, 8
RADIO_ID, REG_CUSTOM_REG, RADIO_NAME, FREQ, TX_INFO_FLAGS, PERM_ADDR = 10, 12, 17, 19, 21, 22
NO_ACK, WAS_ACKED = 2, 4
"""Flags of a transmission."""

Tries = tuple[int, ...]
"""Up to four rates and how often each is tried: index, count, index, count ... An index of -1 ends the list."""

_START = 20  # of the attributes, after netlink's header and the generic one
_FRAME_START = _START + 12  # of its attribute, after the transmitter's address
_LEAD = struct.Struct("=16xB3xI6s2xHH")  # command; the transmitter; length and kind of the frame
_TAIL = struct.Struct("=IIIII8sI12xI8s")  # flags, frequency, tries, their flags, cookie: each after its length and kind
_TX_INFO = struct.Struct("=IHHIIBBHI6s2xIIIII8bI")
_MAX_RATES = 12
_new = tuple.__new__  # a named tuple by its own constructor takes twice as long


def _opens(kind: int, size: int) -> int:
    """Length and kind of an attribute, as one number."""
    return 4 + size | kind << 16


_OPENS_TRANSMITTER, _OPENS_COOKIE = _opens(ADDR_TRANSMITTER, 6), _opens(COOKIE, 8)
_OPENS_TAIL = (_opens(FLAGS, 4), _opens(FREQ, 4), _opens(TX_INFO, 8), _opens(TX_INFO_FLAGS, 12), _OPENS_COOKIE)


class Sent(NamedTuple):
    """A frame from a radio, as the medium receives it."""

    transmitter: bytes
    attribute: bytes
    """The frame, from its frame control on and without its checksum: an attribute that goes to receivers unchanged."""
    size: int
    """Of the frame."""
    flags: int
    tries: Tries
    cookie: bytes

    @property
    def frame(self) -> bytes:
        """The bytes of the frame alone."""
        return self.attribute[4 : 4 + self.size]


def read_sent(data: bytes) -> Sent | None:
    """The frame in a message, or None if there is none in it."""
    try:
        command, opens, transmitter, length, kind = _LEAD.unpack_from(data)
        if command == FRAME and opens == _OPENS_TRANSMITTER and kind == ATTR_FRAME:
            end = _FRAME_START + ((length + 3) & ~3)
            a, flags, b, _, c, tries, d, e, cookie = _TAIL.unpack_from(data, end)
            if (a, b, c, d, e) == _OPENS_TAIL:
                return _new(Sent, (transmitter, data[_FRAME_START:end], length - 4, flags, _tries(tries), cookie))
    except struct.error:
        pass
    return _read_any_order(data)


@cache
def _tries(data: bytes) -> Tries:
    """Unpack the tries; cached, as only a few different ones occur."""
    return struct.unpack(f"={len(data)}b", data)


def _read_any_order(data: bytes) -> Sent | None:
    """Read a frame from a kernel that sends the attributes in another order, or with others between them."""
    if len(data) < _START or data[16] != FRAME:
        return None
    try:
        found = attributes_of(data, _START)
        flags, frame = int.from_bytes(found[FLAGS], "little"), found[ATTR_FRAME]
        whole = attribute(ATTR_FRAME, frame)
        return Sent(found[ADDR_TRANSMITTER], whole, len(frame), flags, _tries(found[TX_INFO]), found[COOKIE])
    except (KeyError, ValueError):
        return None


class Packer:
    """Packs the messages of the medium to the kernel. Many messages may go into one send.

    A frame for a receiver is `head`, the `receiver`, the frame's attribute, one of `tails`, and the `signal`.
    """

    def __init__(self, family: int, frequency_mhz: int) -> None:
        self._family = family
        self.tails = [
            attribute(RX_RATE, u32(index)) + attribute(FREQ, u32(frequency_mhz)) for index in range(_MAX_RATES)
        ]
        """By the index of the rate."""
        self.head = cache(self._head)
        self.tx_info = lru_cache(maxsize=100_000)(self._tx_info)

    def _head(self, attribute_bytes: int) -> bytes:
        """The start of a message with a frame, by the length of the frame's attribute."""
        size = _START + 12 + attribute_bytes + 3 * 8
        return HEADER.pack(size, self._family, REQUEST, 0, 0) + bytes((FRAME, 1, 0, 0))

    def _tx_info(self, transmitter: bytes, flags: int, signal_dbm: int, tries: Tries) -> bytes:
        """Tells the transmitter what happened to its frame; the frame's cookie has to follow."""
        return _TX_INFO.pack(
            *(_TX_INFO.size + 8, self._family, REQUEST, 0, 0, TX_INFO_FRAME, 1, 0),
            *(_OPENS_TRANSMITTER, transmitter, _opens(FLAGS, 4), flags),
            *(_opens(SIGNAL, 4), signal_dbm & 0xFFFFFFFF, _opens(TX_INFO, 8), *tries, _OPENS_COOKIE),
        )


def receiver(address: bytes) -> bytes:
    """The address of a radio that receives a frame."""
    return attribute(ADDR_RECEIVER, address)


@cache
def signal(dbm: int) -> bytes:
    """The power at which a radio receives a frame."""
    return attribute(SIGNAL, u32(dbm))
