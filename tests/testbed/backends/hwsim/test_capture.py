"""The capture of the air is read back, by a parser in this test and by tshark where it is installed."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from testbed.backends.hwsim.capture import Capture
from tests.emulation.conftest import cannot
from tests.testbed.backends.hwsim.frames import BROADCAST, frame, mac

START_NS = 1_700_000_000_123_456_789


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "air.pcap"
    capture = Capture(made, 2437, 18.4)
    capture.write(START_NS, 5, 6.0, frame(0, BROADCAST))
    capture.write(START_NS + 1000, 6, 5.5, frame(1, mac(0)), is_retry=True)
    capture.close()
    return made


def test_what_was_written_is_read(path: Path) -> None:
    data = path.read_bytes()
    assert struct.unpack_from("<IHHiIII", data) == (0xA1B23C4D, 2, 4, 0, 0, 4096, 127)
    offset, records = 24, []
    while offset < len(data):
        seconds, ns, kept, size = struct.unpack_from("<IIII", data, offset)
        assert kept == size
        body = data[offset + 16 : offset + 16 + kept]
        version, length, present = struct.unpack_from("<BxHI", body)
        assert (version, present) == (0, 0b10000001111)
        records.append((seconds * 10**9 + ns, struct.unpack_from("<QBBHHb", body, 8), body[length:]))
        offset += 16 + kept
    retried = bytearray(frame(1, mac(0)))
    retried[1] |= 8
    assert records == [
        (START_NS, (5, 0, 12, 2437, 0xC0, 18), frame(0, BROADCAST)),
        (START_NS + 1000, (6, 0, 11, 2437, 0xA0, 18), bytes(retried)),
    ]


def test_tshark_reads_it(path: Path) -> None:
    if shutil.which("tshark") is None:
        cannot("tshark is not installed")
    fields = ["frame.time_epoch", "wlan_radio.data_rate", "wlan_radio.channel", "wlan.fc.retry", "wlan.ta"]
    wanted = [part for field in fields for part in ("-e", field)]
    command = ["tshark", "-r", str(path), "-T", "fields", "-E", "separator=,", *wanted]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    senders = [mac(node).hex(":") for node in (0, 1)]
    shown = [line.replace("False", "0").replace("True", "1") for line in lines]
    assert shown == [f"1700000000.123456789,6,6,0,{senders[0]}", f"1700000000.123457789,5.5,6,1,{senders[1]}"]
