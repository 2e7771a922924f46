"""`--pcap` and `--flows`: files beside the log, and the same events as without them."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from testbed.backends.base import RunOptions
from testbed.backends.registry import BACKENDS, find_backend
from testbed.backends.repetition import Repetition
from testbed.cli.main import main
from testbed.errors import InputError
from testbed.experiments.measure import measure
from testbed.link.frames import Hello
from testbed.link.wire import Wire
from testbed.randomness import Streams
from testbed.scenario.loader import loads
from testbed.scenario.schema import Scenario
from tests.testbed.backends.ns3 import on_ns3
from tests.testbed.backends.ns3.captured import ACKNOWLEDGEMENT, captured, datagrams
from tests.testbed.backends.ns3.test_simulation import LINE
from tests.testbed.tiny import is_one_line, tiny, write_tiny

pytestmark = [pytest.mark.xdist_group("ns3"), pytest.mark.usefixtures("ns3")]

RR: dict[str, Any] = {
    **LINE, "algorithm": "raymond-tree", "routing": "olsr", "warmup": 0.0, "duration": 40.0, "trace": "events",
}  # fmt: skip


def events(scenario: Scenario, folder: Path, **options: bool) -> bytes:
    """The log of one repetition."""
    measure(scenario, 0, folder, options=RunOptions(**options))
    return (folder / "events.jsonl").read_bytes()


@pytest.mark.parametrize("keys", [{**LINE, "trace": "events", "duration": 30.0}, RR], ids=["rl", "routed"])
def test_nothing_of_it_changes_the_events(keys: dict[str, Any], tmp_path: Path) -> None:
    """Byte by byte."""
    scenario = on_ns3.scenario(**keys)
    without = events(scenario, tmp_path / "without")
    assert len(without.splitlines()) > 100
    assert events(scenario, tmp_path / "pcap", pcap=True) == without
    assert events(scenario, tmp_path / "flows", flows=True) == without
    assert events(scenario, tmp_path / "both", pcap=True, flows=True) == without
    assert not [one for one in os.listdir("/proc/self/fd") if _is_capture(Path("/proc/self/fd", one))], "all closed"


def _is_capture(descriptor: Path) -> bool:
    return descriptor.is_symlink() and str(descriptor.readlink()).endswith(".pcap")


def test_a_capture_has_the_frames_of_a_station(tmp_path: Path) -> None:
    """What it sends and what it hears: our hellos, datagrams for one neighbour, and acknowledgements of the radios."""
    scenario = on_ns3.scenario(**{**LINE, "duration": 20.0})
    events(scenario, tmp_path, pcap=True)
    assert sorted(path.name for path in tmp_path.glob("*.pcap")) == [f"station-{number}.pcap" for number in range(4)]
    frames = list(captured(tmp_path / "station-1.pcap"))
    times = [seconds for seconds, _ in frames]
    assert times == sorted(times)
    assert 19 < times[-1] < 320
    assert [frame for _, frame in frames if frame[0] == ACKNOWLEDGEMENT]
    ours = list(datagrams(tmp_path / "station-1.pcap"))
    assert {one.port for one in ours} == {4711}
    repetition = Repetition(scenario, Streams(scenario.seed, 0))
    wire = Wire(repetition.wire_name(), repetition.wire_messages())
    read = [wire.read(one.data) for one in ours]
    assert [one.sender for one in read] == [one.transmitter for one in ours]
    assert {one.sender for one in read} == {0, 1, 2}, "itself and those beside it"
    hellos = [one.to for one, datagram in zip(ours, read, strict=True) if isinstance(datagram.frame, Hello)]
    assert len(hellos) > 40
    assert set(hellos) == {b"\xff" * 6}, "broadcasts"
    assert {one.to[-1] - 1 for one in ours if one.transmitter == 1 and one.to not in hellos} == {0, 2}


def test_a_row_for_every_flow(tmp_path: Path) -> None:
    """Only unicasts: as many as the log has, and forwarded as often as the line is long."""
    events(on_ns3.scenario(**RR), tmp_path, flows=True)
    lines = (tmp_path / "flows.csv").read_text().splitlines()
    rows = [{key: float(value or "nan") for key, value in row.items()} for row in csv.DictReader(lines)]
    assert len(rows) > 4
    assert {row["port"] for row in rows} == {4711}
    logged = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    frames = {one["type"]: one["count"] for one in logged if one["kind"] == "frames"}
    assert sum(row["forwarded"] for row in rows) == frames["Forwarded"]
    sent = sum(row["sent"] for row in rows)
    assert 0 < sent <= sum(frames[kind] for kind in ("Packet", "Receipt", "Who")), "less those without a route"
    for row in rows:
        assert 0 <= row["sent"] - row["received"] - row["lost"] <= 1
        assert row["forwarded"] == pytest.approx(row["received"] * (abs(row["source"] - row["target"]) - 1), abs=2)
        assert row["bytes_sent"] > 28 * row["sent"]
        assert row["received"] == 0 or 0.1 < row["delay_ms"] < 100
    flows = ElementTree.parse(tmp_path / "flows.xml").getroot().findall("./FlowStats/Flow")
    assert sum(int(flow.attrib["txPackets"]) for flow in flows) == sent


def test_every_repetition_has_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Repetitions are in worker processes, which are told of the options."""
    file = tmp_path / "line.yaml"
    file.write_text(on_ns3.scenario(**{**RR, "repeat": 2, "duration": 10.0}).to_yaml())
    assert main(["run", str(file), "--out", str(tmp_path / "runs"), "--pcap", "--flows", "--json"]) in (0, 4)
    run = Path(json.loads(capsys.readouterr().out)["run_dir"])
    for repetition in ("rep-000", "rep-001"):
        names = {path.name for path in (run / repetition).iterdir()}
        assert {"flows.xml", "flows.csv", *(f"station-{number}.pcap" for number in range(4))} <= names
        assert all(len(list(captured(path))) > 20 for path in (run / repetition).glob("*.pcap"))


@pytest.mark.parametrize("name", [name for name in BACKENDS if name != "ns3"])
def test_others_have_no_statistics_of_flows(name: str) -> None:
    """One line that names the backend that has: nothing was started."""
    with pytest.raises(InputError, match=f"^--flows: backend {name} has no statistics of flows; ns3 has$"):
        find_backend(name).check(loads(tiny(f"backend: {name}\n")), RunOptions(flows=True))


def test_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2; also for stations of another program."""
    path = write_tiny(tmp_path, "backend: sim\n")
    for more in ([], ["--attach", "1"]):
        assert main(["run", str(path), "--out", str(tmp_path / "runs"), "--flows", *more]) == 2
        said = capsys.readouterr().err
        assert is_one_line(said)
        assert said.startswith("testbed: --flows: ")
