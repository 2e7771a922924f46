"""The air as a capture file: every transmission, with a radiotap header, for programs such as Wireshark.

The file has the classic format of libpcap with nanoseconds, and link type 127 (IEEE 802.11 with radiotap). It has what
was sent, whether or not a station received it: one record for each try, those after the first with the retry bit. As
the capture is made at no position, there is no received power; the transmitted power is there instead.
"""

from __future__ import annotations

import struct
from pathlib import Path

MAGIC_NS, LINKTYPE_RADIOTAP = 0xA1B23C4D, 127
_SNAP = 4096
_FILE = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")
_RADIOTAP = struct.Struct("<BBHIQBBHHb")  # version, pad, length, present; time, flags, rate, frequency, its kind, power
_PRESENT = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 10
_CCK, _OFDM, _2_GHZ, _5_GHZ = 0x20, 0x40, 0x80, 0x100
_RETRY = 0x08


class Capture:
    """A file that grows by one record for each transmission."""

    def __init__(self, path: Path, frequency_mhz: int, tx_power_dbm: float) -> None:
        self._file = path.open("wb", buffering=1 << 16)
        self._file.write(_FILE.pack(MAGIC_NS, 2, 4, 0, 0, _SNAP, LINKTYPE_RADIOTAP))
        self._frequency_mhz = frequency_mhz
        self._tx_power_dbm = max(-128, min(127, round(tx_power_dbm)))

    def write(self, wall_ns: int, run_us: int, mbps: float, frame: bytes, is_retry: bool = False) -> None:
        """Add a try that began at this time, given as wall time and as time of the run."""
        kind = (_2_GHZ if self._frequency_mhz < 5000 else _5_GHZ) | (_CCK if mbps in (1, 2, 5.5, 11) else _OFDM)
        head = _RADIOTAP.pack(
            *(0, 0, _RADIOTAP.size, _PRESENT),
            *(max(0, run_us), 0, round(2 * mbps), self._frequency_mhz, kind, self._tx_power_dbm),
        )
        if is_retry:
            frame = frame[:1] + bytes((frame[1] | _RETRY,)) + frame[2:]
        seconds, ns = divmod(wall_ns, 1_000_000_000)
        size = len(head) + len(frame)
        self._file.write(_RECORD.pack(seconds, ns, size, size) + head + frame)

    def close(self) -> None:
        """Write out what is buffered."""
        self._file.close()
