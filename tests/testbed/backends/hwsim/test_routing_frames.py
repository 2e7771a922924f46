"""Frames of routing protocols, recognised by their contents."""

from __future__ import annotations

import struct
from random import Random

import pytest

from testbed.backends.hwsim.frames import Impairments
from testbed.backends.hwsim.hearing import GivenPairs
from testbed.backends.hwsim.messages import Packer
from testbed.backends.hwsim.outcomes import FrameOutcomes
from testbed.backends.hwsim.routing_frames import BABEL, BATMAN, FORWARDED, RoutingFrames, look_into
from testbed.radio.radio import Radio
from tests.testbed.backends.hwsim.frames import BROADCAST, FAMILY, mac, sent

PAYLOAD = b"what it is about"
SNAP = b"\xaa\xaa\x03\x00\x00\x00"


def attribute(ethertype: int, packet: bytes, control: int = 0x08) -> bytes:
    head = bytes((control, 0, 0, 0)) + bytes(6) + mac(0) + bytes(8) + (b"\0\0" if control & 0x80 else b"")
    frame = head + SNAP + struct.pack(">H", ethertype) + packet
    return struct.pack("=HH", 4 + len(frame), 3) + frame


def udp(port: int) -> bytes:
    return struct.pack(">HHHH", port, port, 8 + len(PAYLOAD), 0) + PAYLOAD


def ipv4(ttl: int) -> bytes:
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(PAYLOAD), 0, 0, ttl, 17, 0, bytes(4), bytes(4)) + udp(7700)


def ipv6(port: int, next_header: int = 17) -> bytes:
    return struct.pack(">IHBB16s16s", 6 << 28, 8 + len(PAYLOAD), next_header, 1, bytes(16), bytes(16)) + udp(port)


def mesh(kind: int, ttl: int, rest: bytes) -> bytes:
    return bytes((kind, 15, ttl)) + rest


def unicast(ttl: int) -> bytes:
    return mesh(0x40, ttl, bytes(7) + bytes(12) + b"\x08\x00" + ipv4(64))


@pytest.mark.parametrize("control", [0x08, 0x88])
@pytest.mark.parametrize(
    ("ethertype", "packet", "kind", "size"),
    [
        (0x86DD, ipv6(6696), BABEL, len(PAYLOAD)),
        (0x86DD, ipv6(5353), None, 0),
        (0x86DD, ipv6(6696, next_header=58), None, 0),
        (0x0800, ipv4(64), None, 0),
        (0x0800, ipv4(63), FORWARDED, len(PAYLOAD)),
        (0x4305, mesh(0x00, 50, bytes(21)), BATMAN, 24),
        (0x4305, mesh(0x01, 50, bytes(30)), BATMAN, 33),
        (0x4305, unicast(50), None, 0),
        (0x4305, unicast(49), FORWARDED, len(PAYLOAD)),
        (0x0806, bytes(28), None, 0),
    ],
)
def test_kinds(control: int, ethertype: int, packet: bytes, kind: str | None, size: int) -> None:
    """Which kind of routing frame it is, if any, and the size of its payload; with and without quality of service."""
    frame = attribute(ethertype, packet, control)
    found = look_into(frame)
    assert found == (None if kind is None else (kind, len(frame) - 4 - size))


@pytest.mark.parametrize("control", [0x08, 0x88, 0x80, 0xD4])
def test_a_truncated_frame_is_not_misread(control: int) -> None:
    """A frame of any length can be examined without an error."""
    whole = attribute(0x86DD, ipv6(6696), control)
    for length in range(5, len(whole) - len(PAYLOAD) - 4):
        assert look_into(whole[:length]) is None


def test_counting_begins_with_the_load() -> None:
    """Frames that find the first routes are not counted."""
    counted = RoutingFrames(from_s=2.0)
    frame = attribute(0x86DD, ipv6(6696))
    for at_ns in (0, 1_999_999_999, 2_000_000_000, 3_000_000_000):
        counted.note(frame, len(frame) - 4, at_ns)
    assert counted.counts() == {"frames": {BABEL: 2}, "bytes": {BABEL: 2 * len(PAYLOAD)}}


def test_the_medium_counts_routing_frames_only_if_asked_to() -> None:
    """Otherwise it reports nothing of routing."""
    for counted in (None, RoutingFrames()):
        packer, addresses = Packer(FAMILY, 2412), [mac(0), mac(1)]
        made = FrameOutcomes(
            GivenPairs(2, [(0, 1)]), Radio(), addresses, packer, Random(1), Impairments(routing=counted)
        )
        made.take(sent(0, BROADCAST), 0, 0)
        assert made.routing_counts() == (None if counted is None else {"frames": {}, "bytes": {}})
