"""What routing in the kernel costs on the air: its control frames, and the packets that nodes on the way pass on.

Stations know of neither. The medium sees every frame, and tells them apart by what is in them. A packet that has been
passed on has a time to live that is less than the one it began with.
"""

from __future__ import annotations

from typing import Any

BABEL, BATMAN, FORWARDED = "Babel", "Batman", "Forwarded"
BABEL_PORT = 6696
_CONTROL, _DATA = 4, 0x08  # where a frame begins in its attribute, and what a data frame begins with
_HEADER, _QOS_FLAG, _QOS_BYTES = 4 + 24, 0x80, 2
_SNAP = b"\xaa\xaa\x03\x00\x00\x00"
_IPV4, _IPV6, _BATADV = b"\x08\x00", b"\x86\xdd", b"\x43\x05"
_IPV4_TTL_AT, _IPV4_TTL = 8, 64
_NEXT_HEADER_AT, _UDP, _UDP_TARGET_AT = 6, 17, 40 + 2
_BATADV_TTL_AT, _BATADV_TTL = 2, 50
_CARRIES_DATA = (0x40, 0x41, 0x42)  # UNICAST, UNICAST_FRAG, UNICAST_4ADDR


class RoutingFrames:
    """Counts them from a time of the run on, as stations count theirs when the load starts."""

    def __init__(self, from_s: float = 0.0) -> None:
        self._from_ns = round(from_s * 1e9)
        self._frames: dict[str, int] = {}
        self._bytes: dict[str, int] = {}

    def note(self, attribute: bytes, size: int, run_ns: int) -> None:
        """A frame goes on the air, so many bytes of it."""
        if run_ns >= self._from_ns:
            kind = kind_of(attribute)
            if kind is not None:
                self._frames[kind] = self._frames.get(kind, 0) + 1
                self._bytes[kind] = self._bytes.get(kind, 0) + size

    def counts(self) -> dict[str, Any]:
        """As a station reports its own."""
        return {"frames": self._frames, "bytes": self._bytes}


def kind_of(attribute: bytes) -> str | None:
    """What a frame is to routing; None if it is what a station sent, or no data frame at all."""
    control = attribute[_CONTROL]
    if control & 0x0C != _DATA:
        return None
    start = _HEADER + (_QOS_BYTES if control & _QOS_FLAG else 0)
    if attribute[start : start + 6] != _SNAP:
        return None
    ethertype, packet = attribute[start + 6 : start + 8], attribute[start + 8 :]
    if ethertype == _IPV4 and len(packet) > _IPV4_TTL_AT:
        return FORWARDED if packet[_IPV4_TTL_AT] < _IPV4_TTL else None
    if ethertype == _BATADV and len(packet) > _BATADV_TTL_AT:
        if packet[0] not in _CARRIES_DATA:
            return BATMAN
        return FORWARDED if packet[_BATADV_TTL_AT] < _BATADV_TTL else None
    if ethertype == _IPV6 and packet[_NEXT_HEADER_AT : _NEXT_HEADER_AT + 1] == bytes((_UDP,)):
        target = int.from_bytes(packet[_UDP_TARGET_AT : _UDP_TARGET_AT + 2])
        return BABEL if target == BABEL_PORT else None
    return None
