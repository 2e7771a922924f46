"""`testbed sweep --live` by HTTP: the page, news of it, the end in all ways, and what it leaves of the machine."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from analysis.store import Store
from testbed.cli.main import main
from testbed.experiments.studies.open import open_study
from testbed.experiments.studies.sweep import Sweep
from testbed.look.live import study_editions
from testbed.look.live.study_editions import Editions
from testbed.look.report.writing import write_report
from tests.testbed.cli.swept import STUDY, swept
from tests.testbed.experiments.studies.counted import group_of, wait_until
from tests.testbed.look.gated import FATAL, NAME, PER_NUMBER, UNSAFE, Gated, Swept


def get(address: str) -> http.client.HTTPResponse:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", f"{parts.path}?{parts.query}")
    return connection.getresponse()


def page_of(swept: Swept) -> str:
    answer = get(swept.address)
    assert answer.status == 200
    return answer.read().decode()


def news_of(swept: Swept, since: int = 0) -> Iterator[dict[str, Any]]:
    """The lines as they come, to the end."""
    for line in get(f"{swept.address}news?since={since}"):
        yield json.loads(line)


def first(news: Iterator[dict[str, Any]], holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The first line that is as it should be; there is a line every second at least."""
    deadline = time.monotonic() + 60
    for one in news:
        if holds(one):
            return one
        assert time.monotonic() < deadline, one
    raise AssertionError("the news have ended")


def live_of(page: str) -> dict[str, Any]:
    """What the page begins with."""
    (found,) = re.findall(r'<script type="application/json" id="live">(.*?)</script>', page)
    document: dict[str, Any] = json.loads(found)
    return document


def main_of(page: str) -> str:
    (found,) = re.findall(r"<main>(.*)</main>", page, re.DOTALL)
    return str(found)


def rows_of(html: str) -> int:
    """The rows of the table of points."""
    return html.partition('id="points"')[2].partition("<tbody>")[2].count("<tr>")


def assert_nothing_is_left(swept: Swept) -> None:
    """No process and no socket."""
    wait_until(lambda: not group_of(swept.process.pid), "processes are left")
    wait_until(lambda: is_refused(swept.address), "the socket is left")


def is_refused(address: str) -> bool:
    try:
        get(address)
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # threads of a process that was killed may end after it
        pass
    return False


def files_of(study: Gated) -> set[str]:
    """What is in the store: no journal of SQLite, without which a copy of its file would lack the last results."""
    return {path.name for path in study.store.iterdir() if path.is_file()}


# -- what is served ---------------------------------------------------------------------------------------------------


def test_from_nothing_to_the_report(tmp_path: Path) -> None:
    """An empty store has a page, which then gets what has changed; the last of it is what `testbed report` writes."""
    study = Gated(tmp_path, FATAL + 1)
    with study.sweep() as swept:
        page = page_of(swept)
        live = live_of(page)
        assert "no results yet" in page
        assert rows_of(page) == 0
        assert 'id="explore"' not in page
        assert "connect-src 'self'" in unescape(page)
        assert live["told"]["text"].startswith(f"0 of {study.runs} runs")
        assert not live["told"]["ended"]
        news = news_of(swept, live["version"])
        assert "report" not in next(news), "the page has this edition"
        study.allow(2)
        report = first(news, lambda one: "report" in one and rows_of(one["report"]["main"]) == 4)["report"]
        assert '<div id="explore">' in report["main"]
        assert len(report["explorer"]["points"]) == 4
        told = first(news, lambda one: one.get("share", 0) >= 2 / (FATAL + 1))
        assert told["text"].startswith(f"{2 * PER_NUMBER} of {study.runs} runs")
        told = first(news, lambda one: "left" in one.get("text", ""))
        assert re.fullmatch(rf"\d+ of {study.runs} runs, about [\d.]+ (s|min|h) left", told["text"])
        study.allow(FATAL + 1)
        rest = list(news)
        code, out, _ = swept.end()
    assert code == 1
    assert "safety failed" in out
    told, report = rest[-1], [one["report"] for one in rest if "report" in one][-1]
    runs = f"{study.runs - PER_NUMBER} of {study.runs} runs, {PER_NUMBER} ended with an error."
    assert told["text"].startswith(f"The sweep has finished: {runs}")
    assert told["ended"]
    assert live["command"] == f"testbed report {study.study}"
    assert_nothing_is_left(swept)
    assert files_of(study) == {"results.sqlite"}
    file = write_report(study.study).read_text()
    assert report["main"] == main_of(file)
    assert f"<header>{report['header']}</header>" in file
    assert all(f"algorithm.number {number}" in report["main"] for number in UNSAFE)
    assert "exit code 7" in report["header"]
    assert 'id="live"' not in file
    assert "connect-src" not in file
    assert "fetch(" not in file
    assert "<img" not in file
    assert unescape(report["header"]).count(NAME) == 1


def test_a_viewer_that_never_reads_holds_up_no_one(tmp_path: Path) -> None:
    study = Gated(tmp_path, 2)
    with study.sweep() as swept:
        parts = urlsplit(swept.address)
        with socket.create_connection((parts.hostname, parts.port)) as silent, socket.socket() as unasked:
            unasked.connect((parts.hostname, parts.port))
            request = f"GET {parts.path}news?since=0 HTTP/1.0\r\nHost: {parts.netloc}\r\n\r\n"
            silent.sendall(request.encode())
            one, other = news_of(swept), news_of(swept)
            editions = [first(news, lambda told: "report" in told) for news in (one, other)]
            assert editions[0] == editions[1], "viewers share an edition"
            study.allow(2)
            assert list(one)[-1]["ended"]
            assert list(other)[-1]["ended"]
            assert swept.end()[0] == 0
    assert_nothing_is_left(swept)


def test_a_page_that_comes_late_has_all_of_it(tmp_path: Path) -> None:
    """No viewer was there before, and what was there before the sweep is on the page too."""
    study = Gated(tmp_path, 2)
    study.allow(1)
    with study.sweep() as swept:
        wait_until(lambda: (study.store / "results.sqlite").exists(), "no store")
        wait_until(lambda: rows_of(page_of(swept)) == 2, "results do not come")
        swept.process.send_signal(signal.SIGINT)
        swept.end()
    study.allow(0)
    with study.sweep() as swept:
        page = page_of(swept)
        assert rows_of(page) == 2
        assert live_of(page)["told"]["text"].startswith(f"{PER_NUMBER} of {2 * PER_NUMBER} runs")
        assert get(f"{swept.address}other").status == 404


# -- how it ends ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_sweep_says_so(number: signal.Signals, code: int, tmp_path: Path) -> None:
    study = Gated(tmp_path, 2)
    study.allow(1)
    with study.sweep() as swept:
        news = news_of(swept)
        first(news, lambda one: one.get("share") == 0.5)
        os.killpg(swept.process.pid, number)  # as a terminal does: to all processes
        last = list(news)[-1]
        assert swept.end()[0] == code
    assert last["ended"]
    assert last["text"].startswith("The sweep was interrupted"), last
    assert f"{PER_NUMBER} of {2 * PER_NUMBER} runs" in last["text"]
    assert_nothing_is_left(swept)
    assert files_of(study) == {"results.sqlite"}


def test_a_killed_sweep_leaves_no_server(tmp_path: Path) -> None:
    study = Gated(tmp_path, 2)
    with study.sweep() as swept:
        news = news_of(swept)
        next(news)
        swept.process.kill()
        swept.process.wait()
        ends = [one["text"] for one in news if one.get("ended")]  # if the server had the time to say it
        assert all(one.startswith("The sweep was killed") for one in ends), ends
        assert_nothing_is_left(swept)


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="the extra distributed is not installed")
def test_on_a_dask_cluster_with_json(tmp_path: Path) -> None:
    study = Gated(tmp_path, 1)
    with study.sweep("--workers", 1, "--json") as swept:
        news = news_of(swept)
        next(news)
        study.allow(1)
        last = list(news)[-1]
        code, out, _ = swept.end()
    assert (code, json.loads(out)["done"]) == (0, PER_NUMBER)
    assert last["text"].startswith(f"The sweep has finished: {PER_NUMBER} of {PER_NUMBER} runs.")
    assert_nothing_is_left(swept)


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["--status", "--dry-run"])
def test_live_needs_a_sweep(other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "small.yaml"
    study.write_text(STUDY)
    assert main(["sweep", str(study), "--live", other]) == 2
    assert capsys.readouterr().err == (
        "testbed: sweep: found --live with --status or --dry-run, which run nothing; allowed: --live alone\n"
    )


def test_a_study_that_is_there_is_not_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = swept(tmp_path)
    for options, report in (
        ([], str(study)),
        (["--store", str(study.with_suffix(".store"))], f"{study} --store {study.with_suffix('.store')}"),
    ):
        capsys.readouterr()
        assert main(["sweep", str(study), "--live", *options]) == 0
        first, second = capsys.readouterr().err.splitlines()
        assert first == f"testbed: live: all runs are there, so nothing is served; testbed report {report} shows them"
        assert second == "testbed: small: 8 points, 16 runs, 16 there"


def test_a_bad_scheduler_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No address is printed of a server that is gone."""
    study = tmp_path / "small.yaml"
    study.write_text(STUDY)
    assert main(["sweep", str(study), "--live", "--scheduler", "nowhere"]) == 2
    assert capsys.readouterr().err.startswith("testbed: --scheduler: found 'nowhere'; allowed: ")
    assert not study.with_suffix(".store").exists()


# -- what it costs ----------------------------------------------------------------------------------------------------


def test_an_edition_is_made_only_of_new_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes write claims all the time."""
    monkeypatch.setattr(study_editions, "REST", 0.0)
    monkeypatch.setattr(study_editions, "COUNT_EVERY_S", 0.0)
    path = swept(tmp_path)
    study, place = open_study(path), path.with_suffix(".store")
    jobs = [job for point in study.points for job in point.stored.jobs(2)]
    editions = Editions(study, place)
    editions.look()
    first = editions.latest
    assert first is not None
    assert editions.counts() == (16, 0, 16)
    with Store(place) as store:
        store.remove(jobs[:1])
        editions.look()
        second = editions.latest
        assert second is not None
        assert second.version == first.version + 1
        assert store.claim(jobs[0])
        editions.look()
        assert editions.latest is second
        store.put([(jobs[0], None, json.dumps({"text": "it failed", "trace": ""}), 0.1)])
        editions.look()
    assert editions.counts() == (15, 1, 16)
    assert editions.latest is not second
    assert "it failed" in editions.latest.report.lead
    assert editions.latest.wanted == 16 == Sweep(study, Store(None)).status().wanted


def test_a_store_that_is_not_made_yet(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(STUDY)
    editions = Editions(open_study(path), tmp_path / "small.store")
    editions.look()
    assert editions.latest is not None
    assert rows_of(editions.latest.report.parts()["main"]) == 0
    assert editions.counts() == (0, 0, 16)
    assert not (tmp_path / "small.store").exists()


def test_looks_are_rationed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a report has been made there is a rest; at the end it is made all the same, unless it takes long."""
    monkeypatch.setattr(study_editions, "REST", 1e9)
    path = swept(tmp_path)
    study, place = open_study(path), path.with_suffix(".store")
    jobs = [job for point in study.points for job in point.stored.jobs(2)]
    unseen = Editions(study, place)
    unseen.look_at_the_end()
    assert unseen.latest is None, "no viewer was there"
    editions, late = Editions(study, place), Editions(study, place)
    editions.look()
    late.look()
    with Store(place) as store:
        store.remove(jobs[:3])
    editions.look()
    late.look()
    assert (editions.counts()[0], editions.latest and editions.latest.version) == (16, 1)
    editions.look_at_the_end()
    assert (editions.counts()[0], editions.latest and editions.latest.version) == (13, 2)
    assert editions.is_up_to_date
    monkeypatch.setattr(study_editions, "LONG_S", 0.0)
    late.look_at_the_end()
    assert (late.counts()[0], late.latest and late.latest.version) == (13, 1)
    assert not late.is_up_to_date
