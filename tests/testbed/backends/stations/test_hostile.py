"""A hostile sender on the stations' ports: random bytes, recorded frames played again, frames of another run."""

import json
import random
import socket
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from testbed.experiments.runner import run
from testbed.scenario.schema import Scenario
from tests.testbed.backends.stations.stage import LINE, check_requests, failures

pytestmark = pytest.mark.xdist_group("stations")

PATCH = """
import os, testbed.backends.loopback.transport as transport

class Open(transport.LoopbackTransport):
    # Tells the test its port and all that it sends; with HOSTILE=open it listens to every sender.
    def open(self, node):
        opened = super().open(node)
        self.file = open(os.environ["HOSTILE_FOLDER"] + f"/{node}", "a")
        print(opened.getsockname()[1], file=self.file, flush=True)
        return opened

    def address(self, transmit):
        print(transmit.data.hex(), file=self.file, flush=True)
        return super().address(transmit)

    def is_ours(self, source):
        return os.environ["HOSTILE"] == "open" or super().is_ours(source)

transport.LoopbackTransport = Open
"""
REASONS = {
    "random bytes": ("of another version", "malformed"),
    "recorded frames": ("our own", "for another node"),
    "frames of another run": ("of another run",),
}
"""Why a station drops a datagram of each kind. It drops none from the medium for these reasons."""


class Attack(threading.Thread):
    """Sends datagrams of all kinds, again and again, to every station."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.over = threading.Event()
        self.sent = Counter[str]()

    def run(self) -> None:
        rng = random.Random(1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            while not self.over.is_set():
                logs = [path.read_text().split("\n")[:-1] for path in self.folder.iterdir()]
                ports = [int(lines[0]) for lines in logs if lines]
                frames = [bytes.fromhex(line) for lines in logs for line in lines[1:]]
                for kind in rng.choices(list(REASONS), k=30):
                    data = self.datagram(kind, rng, frames)
                    if ports and data is not None:
                        sender.sendto(data, ("127.0.0.1", rng.choice(ports)))
                        self.sent[kind] += 1
                time.sleep(0.02)

    def datagram(self, kind: str, rng: random.Random, frames: list[bytes]) -> bytes | None:
        if kind == "random bytes":
            return rng.randbytes(rng.randrange(1, 1500))
        if len(frames) < 40:
            return None
        if kind == "recorded frames":
            return rng.choice(frames[: len(frames) // 2])  # old ones
        frame = bytearray(rng.choice(frames))  # of another run: its name is in bytes 1 to 8
        frame[1:9] = rng.randbytes(8)
        return bytes(frame)


@pytest.mark.parametrize("listens", ["to the medium only", "to every sender"])
def test_no_verdict_changes(listens, tmp_path, monkeypatch):
    """Whether stations check where a datagram comes from or, as on a radio, cannot."""
    (tmp_path / "patch").mkdir()
    (tmp_path / "patch" / "sitecustomize.py").write_text(PATCH)
    (tmp_path / "ports").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "patch"))
    monkeypatch.setenv("HOSTILE_FOLDER", str(tmp_path / "ports"))
    monkeypatch.setenv("HOSTILE", "open" if listens == "to every sender" else "")
    attack = Attack(tmp_path / "ports")
    attack.start()
    try:
        result = run(Scenario.model_validate({**LINE, "duration": 40.0, "trace": "events"}), tmp_path / "runs")
    finally:
        attack.over.set()
        attack.join()
    assert not failures(result.summary["checks"])
    check_requests(result.path)
    ends = json.loads((result.path / "rep-000" / "nodes" / "ends.json").read_text())
    dropped = Counter[str]()
    for node in range(LINE["nodes"]):
        dropped.update(ends[str(node)]["dropped"])
    strangers = dropped["from a stranger"]
    by_kind = {kind: sum(dropped[reason] for reason in reasons) for kind, reasons in REASONS.items()}
    if listens == "to the medium only":
        assert 0 < strangers <= attack.sent.total()
        assert by_kind == dict.fromkeys(REASONS, 0)
    else:
        assert strangers == 0
        assert all(by_kind.values()), "the stations have met datagrams of every kind"
        assert sum(by_kind.values()) <= attack.sent.total()
