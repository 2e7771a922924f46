"""Scenarios and folders on their way to another machine and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.experiments.studies import dask_pool, remote
from testbed.experiments.studies.job import StoredPoint
from testbed.scenario.loader import load, loads
from tests.testbed.tiny import tiny, write_tiny

ALGORITHM = "from agents.rl import ReverseLink\n\nclass Mine(ReverseLink):\n    pass\n"


def test_a_scenario_arrives_as_it_was_sent(tmp_path: Path) -> None:
    """With its files in another folder it is the same job: nothing that decides a result has changed."""
    (tmp_path / "mine.py").write_text(ALGORITHM)
    scenario = load(write_tiny(tmp_path, "delays: {hop: 1e-3}\n", algorithm="{name: mine, file: mine.py}"))
    sent, contents = remote.send(scenario)
    assert str(tmp_path) not in sent["data"]
    there = tmp_path / "there"
    there.mkdir()
    ordered = [contents[file["digest"]] for file in sent["files"]]
    place = remote.place_files(sent, ordered, there)
    arrived = remote.receive(sent["data"], place)
    assert arrived.algorithm.file == str(place / "mine.py")
    assert StoredPoint(arrived).name == StoredPoint(scenario).name
    assert remote.code_of(arrived) == sent["code"]
    assert remote.place_files(sent, ordered, there) == place  # and not written again
    assert list(there.iterdir()) == [place]


def test_messages_name_the_files_of_the_sender(tmp_path: Path) -> None:
    """Whatever the other machine calls them."""
    (tmp_path / "mine.py").write_text(ALGORITHM)
    sent, _ = remote.send(load(write_tiny(tmp_path, algorithm="{name: mine, file: mine.py}")))
    text = remote.with_origins('File "/far/away/mine.py", line 3', sent, Path("/far/away"))
    assert text == f'File "{tmp_path / "mine.py"}", line 3'


def test_scenarios_of_one_code_have_one_hash() -> None:
    """It depends on the algorithm, not on the values."""
    one, other, krl = (loads(tiny(**keys)) for keys in ({}, {"nodes": "6"}, {"algorithm": "krl"}))
    assert remote.code_of(one) == remote.code_of(other) != remote.code_of(krl)


def test_a_folder_comes_back_and_replaces_an_older_one(tmp_path: Path) -> None:
    """As a whole, with nothing of the older one and nothing beside it."""
    (tmp_path / "from" / "deep").mkdir(parents=True)
    (tmp_path / "from" / "deep" / "file").write_text("new")
    (tmp_path / "to" / "it").mkdir(parents=True)
    (tmp_path / "to" / "it" / "older").write_text("old")
    packed = remote.pack(tmp_path / "from")
    assert packed is not None
    remote.unpack(packed, tmp_path / "to" / "it")
    assert [path.name for path in (tmp_path / "to").rglob("*")] == ["it", "deep", "file"]
    assert (tmp_path / "to" / "it" / "deep" / "file").read_text() == "new"


def test_a_folder_that_is_too_large_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a run, the summary comes back alone, and a line says so."""
    monkeypatch.setattr(remote, "MAX_BYTES", 10)
    (tmp_path / "file").write_text("x" * 11)
    assert remote.pack(tmp_path) is None
    summary = {"checks": {}, "repetitions": [{"repetition": 0, "log": "/far/away"}]}
    answer = {"worker": "tcp://there:1", "name": "run-1", "summary": summary, "directory": None}
    result = dask_pool._brought(answer, tmp_path / "runs")
    assert [path.name for path in result.path.iterdir()] == ["summary.json"]
    assert result.summary["repetitions"][0]["log"] == str(tmp_path / "runs" / "run-1")
    line = "testbed: worker tcp://there:1: only the summary of run-1 comes back: it has more than 50 MB\n"
    assert capsys.readouterr().err == line
