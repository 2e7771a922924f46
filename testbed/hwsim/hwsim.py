"""The messages of mac80211_hwsim: how radios are made, and how frames come to the medium and go back.

Numbers and layouts are those of the kernel's drivers/net/wireless/virtual/mac80211_hwsim.h. Frames are what there are
many of, so they are taken apart and put together here by offsets, and everything that repeats is packed once.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import NamedTuple

from testbed.hwsim.netlink import HEADER, REQUEST, attribute, attributes_of, u32

FAMILY = "MAC80211_HWSIM"

REGISTER, FRAME, TX_INFO_FRAME, NEW_RADIO, DEL_RADIO, GET_RADIO = 1, 2, 3, 4, 5, 6
ADDR_RECEIVER, ADDR_TRANSMITTER, ATTR_FRAME, FLAGS, RX_RATE, SIGNAL, TX_INFO, COOKIE = 1, 2, 3, 4, 5, 6, 7, 8
RADIO_ID, REG_CUSTOM_REG, RADIO_NAME, FREQ, TX_INFO_FLAGS, PERM_ADDR = 10, 12, 17, 19, 21, 22
NO_ACK, WAS_ACKED = 2, 4
"""Flags of a transmission."""

Tries = tuple[int, ...]
"""Up to four rates and how often each is tried: index, count, index, count ... An index of -1 ends them."""

_START = 20  # of the attributes, after netlink's header and the generic one
_FRAME_START = _START + 12 + 4  # after the transmitter's address
_LEAD = struct.Struct("=16xB3xHH6s2xHH")  # command; the transmitter; length and type of the frame
_TAIL = struct.Struct("=HHIHHIHH8bHH12sHHQ")  # flags, frequency, rates, their flags, cookie
_TAIL_TYPES = (FLAGS, FREQ, TX_INFO, TX_INFO_FLAGS, COOKIE)
_TX_INFO_MESSAGE = struct.Struct("=IHHIIBBHHH6s2xHHIHHIHH8bHHQ")


class Sent(NamedTuple):
    """A frame that a radio has sent, as the medium gets it."""

    transmitter: bytes
    frame: bytes
    """From its frame control on, without its checksum."""
    flags: int
    frequency_mhz: int
    tries: Tries
    cookie: int


def read_sent(data: bytes) -> Sent | None:
    """The frame in a message, or None if there is none in it."""
    try:
        command, length_t, type_t, transmitter, length_f, type_f = _LEAD.unpack_from(data)
        if command == FRAME and (length_t, type_t, type_f) == (10, ADDR_TRANSMITTER, ATTR_FRAME):
            end = _FRAME_START - 4 + length_f
            (_, k1, flags, _, k2, mhz, _, k3, a, b, c, d, e, f, g, h, _, k4, _, _, k5, cookie) = _TAIL.unpack_from(
                data, (end + 3) & ~3
            )
            if (k1, k2, k3, k4, k5) == _TAIL_TYPES:
                return Sent(transmitter, data[_FRAME_START:end], flags, mhz, (a, b, c, d, e, f, g, h), cookie)
    except struct.error:
        pass
    return _read_any_order(data)


def _read_any_order(data: bytes) -> Sent | None:
    """The same for kernels whose attributes come in another order, or with others between them."""
    if len(data) < _START or data[16] != FRAME:
        return None
    try:
        found = attributes_of(data, _START)
        tries = found[TX_INFO]
        return Sent(
            found[ADDR_TRANSMITTER],
            found[ATTR_FRAME],
            int.from_bytes(found[FLAGS], "little"),
            int.from_bytes(found[FREQ], "little") if FREQ in found else 0,
            struct.unpack(f"={len(tries)}b", tries),
            int.from_bytes(found[COOKIE], "little"),
        )
    except (KeyError, ValueError):
        return None


class Packer:
    """Puts together what the medium says to the kernel. Many messages may go in one send."""

    def __init__(self, family: int, frequency_mhz: int) -> None:
        self._family = family
        self._tails = [
            attribute(RX_RATE, u32(index)) + attribute(FREQ, u32(frequency_mhz)) for index in range(_MAX_RATES)
        ]
        self.head = cache(self._head)

    def _head(self, frame_bytes: int) -> bytes:
        """What comes before the receiver's address, for frames of a length."""
        size = _START + 12 + 4 + ((frame_bytes + 3) & ~3) + 3 * 8
        return HEADER.pack(size, self._family, REQUEST, 0, 0) + bytes((FRAME, 1, 0, 0))

    def body(self, frame: bytes, rate_index: int) -> bytes:
        """What all receivers of a frame get: it comes after the receiver's address, and the signal after it."""
        return attribute(ATTR_FRAME, frame) + self._tails[rate_index]

    def tx_info(self, transmitter: bytes, flags: int, signal_dbm: int, tries: Tries, cookie: int) -> bytes:
        """What became of a frame, for its transmitter."""
        size = _TX_INFO_MESSAGE.size
        return _TX_INFO_MESSAGE.pack(
            *(size, self._family, REQUEST, 0, 0, TX_INFO_FRAME, 1, 0),
            *(10, ADDR_TRANSMITTER, transmitter, 8, FLAGS, flags, 8, SIGNAL, signal_dbm & 0xFFFFFFFF),
            *(12, TX_INFO, *tries, 12, COOKIE, cookie),
        )


_MAX_RATES = 12


def receiver(address: bytes) -> bytes:
    """The address of a radio that is to hear a frame."""
    return attribute(ADDR_RECEIVER, address)


@cache
def signal(dbm: int) -> bytes:
    """The power it hears it with."""
    return attribute(SIGNAL, u32(dbm))
