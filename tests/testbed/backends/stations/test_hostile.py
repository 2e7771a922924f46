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
from tests.testbed.simulate import ALL_OK
from tests.testbed.backends.stations.stage import LINE

pytestmark = pytest.mark.xdist_group("stations")

SCENARIO = {**LINE, "duration": 100.0, "trace": "events"}
PATCH = """
import os, testbed.backends.stations.station as process, testbed.backends.stations.transport as transport

class Open(transport.LoopbackTransport):
    # Tells the test its port and all that it sends; with HOSTILE=open it listens to anybody.
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


class Attack(threading.Thread):
    """Sends what it has, again and again, to every station."""

    def __init__(self, folder: Path, kind: str) -> None:
        super().__init__(daemon=True)
        self.folder, self.kind = folder, kind
        self.over = threading.Event()
        self.sent = 0

    def run(self) -> None:
        rng = random.Random(1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            while not self.over.is_set():
                logs = [path.read_text().split("\n")[:-1] for path in self.folder.iterdir()]
                ports = [int(lines[0]) for lines in logs if lines]
                frames = [bytes.fromhex(line) for lines in logs for line in lines[1:]]
                for _ in range(30):
                    data = self.datagram(rng, frames)
                    if ports and data is not None:
                        sender.sendto(data, ("127.0.0.1", rng.choice(ports)))
                        self.sent += 1
                time.sleep(0.02)

    def datagram(self, rng: random.Random, frames: list[bytes]) -> bytes | None:
        if self.kind == "random bytes":
            return rng.randbytes(rng.randrange(1, 1500))
        if len(frames) < 40:
            return None
        if self.kind == "recorded frames":
            return rng.choice(frames[: len(frames) // 2])  # old ones
        frame = bytearray(rng.choice(frames))  # of another run: its name is in bytes 1 to 8
        frame[1:9] = rng.randbytes(8)
        return bytes(frame)


@pytest.mark.parametrize("listens", ["to the medium only", "to anybody"])
@pytest.mark.parametrize("kind", ["random bytes", "recorded frames", "frames of another run"])
def test_no_verdict_changes(kind, listens, tmp_path, monkeypatch):
    """Whether stations look at where a datagram comes from or, as on a radio, cannot."""
    (tmp_path / "patch").mkdir()
    (tmp_path / "patch" / "sitecustomize.py").write_text(PATCH)
    (tmp_path / "ports").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "patch"))
    monkeypatch.setenv("HOSTILE_FOLDER", str(tmp_path / "ports"))
    monkeypatch.setenv("HOSTILE", "open" if listens == "to anybody" else "")
    attack = Attack(tmp_path / "ports", kind)
    attack.start()
    try:
        result = run(Scenario.model_validate(SCENARIO), tmp_path / "runs")
    finally:
        attack.over.set()
        attack.join()
    assert attack.sent > 1000
    assert {name: check["verdict"] for name, check in result.summary["checks"].items()} == ALL_OK
    assert result.summary["metrics"]["entries"]["mean"] > 30
    said = json.loads((result.path / "rep-000" / "nodes" / "ends.json").read_text())
    dropped = Counter[str]()
    for node in range(LINE["nodes"]):
        dropped.update(said[str(node)]["dropped"])
    strangers = dropped.pop("from a stranger")
    assert (strangers > 500) == (listens == "to the medium only")
    assert (dropped.total() > 500) == (listens == "to anybody"), "or nobody was met"
