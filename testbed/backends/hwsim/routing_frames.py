"""What routing in the kernel costs on the air: its control frames, and the packets that intermediate nodes forward.

Stations see neither. The medium sees every frame, and recognises them by their contents. A packet that has been
forwarded has a smaller time to live than at its source. As in the counts of stations, bytes are those of the datagram,
or of batman-adv's message, without the headers below it.
"""

from __future__ import annotations

from typing import Any

BABEL, BATMAN, FORWARDED = "Babel", "Batman", "Forwarded"
BABEL_PORT = 6696
_FRAME = 4  # where a frame begins in its attribute
_DATA, _QOS = 0x08, 0x80
_HEADER_BYTES, _QOS_BYTES, _SNAP_BYTES = 24, 2, 8
_SNAP = b"\xaa\xaa\x03\x00\x00\x00"
_IPV4, _IPV6, _BATADV = b"\x08\x00", b"\x86\xdd", b"\x43\x05"
_UDP, _UDP_BYTES = 17, 8
_IPV4_BYTES, _IPV4_TTL_AT, _IPV4_TTL = 20, 8, 64
_IPV6_BYTES, _NEXT_HEADER_AT = 40, 6
_UDP_TARGET = slice(_IPV6_BYTES + 2, _IPV6_BYTES + 4)
_BATADV_TTL_AT, _BATADV_TTL, _ETHERNET_BYTES = 2, 50, 14
_UNICAST_BYTES = {0x40: 10, 0x41: 20, 0x42: 18}
"""Header lengths of batman-adv's messages that carry data: UNICAST, UNICAST_FRAG, UNICAST_4ADDR."""


class RoutingFrames:
    """Counts frames of routing from a time of the run on: stations count theirs from the start of the load."""

    def __init__(self, from_s: float = 0.0) -> None:
        self._from_ns = round(from_s * 1e9)
        self._frames: dict[str, int] = {}
        self._bytes: dict[str, int] = {}

    def note(self, attribute: bytes, size: int, run_ns: int) -> None:
        """Count a frame of `size` bytes that goes on the air."""
        if run_ns >= self._from_ns:
            found = look_into(attribute)
            if found is not None:
                kind, headers = found
                self._frames[kind] = self._frames.get(kind, 0) + 1
                self._bytes[kind] = self._bytes.get(kind, 0) + size - headers

    def counts(self) -> dict[str, Any]:
        """The counts, in the form in which stations report theirs."""
        return {"frames": self._frames, "bytes": self._bytes}


def look_into(attribute: bytes) -> tuple[str, int] | None:
    """Which kind of routing frame it is, and the bytes of headers in it; None if it is no frame of routing."""
    control = attribute[_FRAME]
    if control & 0x0C != _DATA:
        return None
    headers = _HEADER_BYTES + (_QOS_BYTES if control & _QOS else 0) + _SNAP_BYTES
    start = _FRAME + headers
    if attribute[start - _SNAP_BYTES : start - 2] != _SNAP:
        return None
    ethertype, packet = attribute[start - 2 : start], attribute[start:]
    look = {_BATADV: _in_mesh, _IPV4: _in_ipv4, _IPV6: _in_ipv6}.get(ethertype)
    found = None if look is None or len(packet) <= _IPV4_BYTES else look(packet)
    return None if found is None else (found[0], headers + found[1])


def _in_mesh(packet: bytes) -> tuple[str, int] | None:
    if packet[0] not in _UNICAST_BYTES:
        return BATMAN, 0
    carried = _UNICAST_BYTES[packet[0]] + _ETHERNET_BYTES + _IPV4_BYTES + _UDP_BYTES
    return (FORWARDED, carried) if packet[_BATADV_TTL_AT] < _BATADV_TTL else None


def _in_ipv4(packet: bytes) -> tuple[str, int] | None:
    return (FORWARDED, _IPV4_BYTES + _UDP_BYTES) if packet[_IPV4_TTL_AT] < _IPV4_TTL else None


def _in_ipv6(packet: bytes) -> tuple[str, int] | None:
    is_babel = packet[_NEXT_HEADER_AT] == _UDP and int.from_bytes(packet[_UDP_TARGET]) == BABEL_PORT
    return (BABEL, _IPV6_BYTES + _UDP_BYTES) if is_babel else None
