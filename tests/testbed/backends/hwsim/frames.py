"""Frames as mac80211_hwsim gives them to a medium, packed by hand."""

from __future__ import annotations

import struct

from testbed.backends.hwsim import messages
from testbed.backends.hwsim.names import hardware_address
from testbed.backends.hwsim.netlink import Attributes, attribute, attributes_of, generic, message, messages_of, u32

FAMILY = 30
BROADCAST = b"\xff" * 6
SIX = 4
"""The index of 6 Mb/s."""
ONCE = (SIX, 1, -1, 0, -1, 0, -1, 0)


def mac(node: int) -> bytes:
    return hardware_address("test", node)


def frame(sender: int, to: bytes, size: int = 96, control: int = 0x08) -> bytes:
    head = bytes((control, 0, 0, 0)) + to + mac(sender) + b"\x02cell!" + b"\0\0"
    return head + bytes(place % 251 for place in range(size - len(head)))


def raw(
    sender: int,
    to: bytes,
    *,
    size: int = 96,
    control: int = 0x08,
    tries: tuple[int, ...] = ONCE,
    flags: int = 1,
    cookie: int = 77,
    order: tuple[int, ...] = (),
) -> bytes:
    """The message of a frame; `order` gives the attributes another order than that of Linux 6.1."""
    values = {
        messages.ADDR_TRANSMITTER: mac(sender),
        messages.ATTR_FRAME: frame(sender, to, size, control),
        messages.FLAGS: u32(flags),
        messages.FREQ: u32(2412),
        messages.TX_INFO: struct.pack("=8b", *tries),
        messages.TX_INFO_FLAGS: bytes(12),
        messages.COOKIE: struct.pack("=Q", cookie),
    }
    return message(FAMILY, 0, generic(messages.FRAME, *(attribute(kind, values[kind]) for kind in order or values)))


def sent(sender: int, to: bytes, **more: object) -> messages.Sent:
    read = messages.read_sent(raw(sender, to, **more))  # type: ignore[arg-type]
    assert read is not None
    return read


def unpack(data: bytes) -> tuple[list[Attributes], list[Attributes]]:
    """What a medium tells the kernel: the frames for receivers, and the reports to transmitters."""
    frames, reports = [], []
    for kind, flags, _, body in messages_of(data):
        assert (kind, flags) == (FAMILY, 1)
        assert body[0] in (messages.FRAME, messages.TX_INFO_FRAME)
        (frames if body[0] == messages.FRAME else reports).append(attributes_of(body, 4))
    return frames, reports


def receivers(data: bytes) -> list[int]:
    """The nodes that receive the frames."""
    return sorted(int.from_bytes(one[messages.ADDR_RECEIVER][4:], "big") for one in unpack(data)[0])


def number(value: bytes) -> int:
    return int.from_bytes(value, "little", signed=True)
