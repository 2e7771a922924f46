"""The command line: what goes to which stream, the exit codes, and that no mistake of a user ends in a traceback."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Self
from xml.etree import ElementTree

import pytest

from agents.contract import Demand
from agents.registry import ALGORITHMS
from agents.rl import ReverseLink
from analysis.events import VERSION
from testbed.backends.hwsim.backend import HwsimBackend
from testbed.cli import doctor
from testbed.cli.main import main
from testbed.experiments import runner
from testbed.scenario.loader import loads
from tests.conftest import PROJECT
from tests.testbed.simulate import ALL_OK
from tests.testbed.tiny import Unsafe, command, command_line, is_one_line, only_run, tiny, write_tiny

Invoke = Callable[..., tuple[int, str, str]]
FAILS = "expect: {metrics: {waiting_time: {mean: {max: 0.001}}}}\n"


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Call the command line in this process; gives the exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a finished run with a full log, not to be changed."""
    return runner.run(loads(tiny("trace: events\n")), tmp_path_factory.mktemp("finished")).path


@pytest.fixture
def run_dir(finished_run: Path, tmp_path: Path) -> Path:
    """A copy of the directory of a finished run with a full log."""
    return shutil.copytree(finished_run, tmp_path / "done" / finished_run.name)


# -- run --------------------------------------------------------------------------------------------------------------


def test_run_prints_verdicts_a_table_and_the_directory(invoke: Invoke, tmp_path: Path) -> None:
    """Verdicts, table and directory are on stdout, and nothing is on stderr."""
    code, out, err = invoke("run", write_tiny(tmp_path), "--out", tmp_path / "runs")
    assert (code, err) == (0, "")
    assert re.search(r"^safety +ok", out, re.MULTILINE)
    assert re.search(r"^\| waiting time +\| +\d", out, re.MULTILINE)
    assert out.endswith(f"run directory: {only_run(tmp_path / 'runs')}\n")


def test_run_json_is_one_document(invoke: Invoke, tmp_path: Path) -> None:
    """With --json stdout is one JSON document and nothing else, the summary of the run."""
    code, out, err = invoke("run", write_tiny(tmp_path), "--json", "--out", tmp_path / "runs")
    assert (code, err) == (0, "")
    document = json.loads(out)
    run = only_run(tmp_path / "runs")
    assert document == {"run_dir": str(run), **json.loads((run / "summary.json").read_text())}
    assert document["checks"]["safety"]["verdict"] == "ok"
    assert document["metrics"]["entries"]["mean"] > 0


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_failed_expectation_is_exit_code_1(more: tuple[str, ...], invoke: Invoke, tmp_path: Path) -> None:
    """A bound that does not hold is named, with what was measured and what was expected."""
    code, out, err = invoke("run", write_tiny(tmp_path, FAILS), "--out", tmp_path / "runs", *more)
    assert (code, err) == (1, "")
    assert re.search(r"waiting_time\.mean is [\d.]+, expected at most 0\.001", out)
    meta = json.loads((only_run(tmp_path / "runs") / "meta.json").read_text())
    assert (meta["status"], meta["exit"]) == ("finished", 1)


@pytest.mark.parametrize(
    ("expect", "code"), [("", 1), ("expect: {checks: {safety: ok}}\n", 1), ("expect: {checks: {safety: failed}}\n", 0)]
)
def test_failed_check_is_exit_code_1(
    expect: str, code: int, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check fails the run without being named in `expect`, unless its failure is what is expected."""
    monkeypatch.setitem(ALGORITHMS, "unsafe", Unsafe)
    path = write_tiny(tmp_path, expect, algorithm="unsafe", workload="{rate: 1}")
    left, out, err = invoke("run", path, "--out", tmp_path / "runs")
    assert (left, err) == (code, "")
    assert re.search(r"^safety +failed .*\n +repetition 0: t=\S+: node \d enters with", out, re.MULTILINE)
    assert ("NOT AS EXPECTED: safety is failed, expected ok" in out) == bool(code)
    assert invoke("analyze", only_run(tmp_path / "runs"))[0] == 1


def test_seed_is_short_for_set(invoke: Invoke, tmp_path: Path) -> None:
    """--seed changes the run as --set seed does, and wins over the file."""
    path = write_tiny(tmp_path, "seed: 3\n")
    documents = [
        json.loads(invoke("run", path, "--json", "--out", tmp_path / "runs", *options)[1])["metrics"]
        for options in ((), ("--seed", "3"), ("--seed", "4"), ("--set", "seed=4"))
    ]
    assert documents[0] == documents[1]
    assert documents[1] != documents[2]
    assert documents[2] == documents[3]


@pytest.mark.parametrize(
    ("options", "place"),
    [
        (("--seed", "-1"), "--set seed=-1: seed: found -1; allowed: at least 0"),
        (("--seed", "x"), "--set seed=x: seed: found 'x'; allowed: a whole number"),
        (("--backend", "ns4"), "--set backend=ns4: backend: found 'ns4'; allowed: one of "),
        (("--set", "nodes=0"), "--set nodes=0: nodes: found 0; allowed: at least 1"),
        (("--set", "nodes"), "--set nodes: found no key=value"),
    ],
)
def test_bad_option_is_exit_code_2(options: tuple[str, str], place: str, invoke: Invoke, tmp_path: Path) -> None:
    """A wrong value on the command line is one line that names the option."""
    code, out, err = invoke("run", write_tiny(tmp_path), "--out", tmp_path / "runs", f"{options[0]}={options[1]}")
    assert (code, out) == (2, "")
    assert is_one_line(err)
    assert err.startswith(f"testbed: {place}")
    assert not (tmp_path / "runs").exists()


def test_shipped_scenarios_work_from_anywhere(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of the project is found from another folder; one in the current folder comes first."""
    monkeypatch.chdir(tmp_path)
    short = ("--set", "duration=5", "--set", "repeat=1", "--json")
    assert json.loads(invoke("run", "scenarios/quickstart.yaml", *short)[1])["scenario"] == "quickstart"
    assert only_run(tmp_path / "runs").name.startswith("quickstart-")
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios/quickstart.yaml").write_text(tiny())
    assert json.loads(invoke("run", "scenarios/quickstart.yaml", *short)[1])["scenario"] == "tiny"


def test_text_survives_a_terminal_without_unicode(tmp_path: Path) -> None:
    """An encoding that lacks a character costs that character, not the result."""
    path = write_tiny(tmp_path, "description: é\n")
    environment = {
        **os.environ,
        "PYTHONIOENCODING": "ascii",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "LC_ALL": "C",
    }
    done = command("run", path, "--out", tmp_path / "runs", env=environment)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
    again = command("run", only_run(tmp_path / "runs") / "scenario.yaml", "--out", tmp_path / "again")
    assert again.returncode == 0


# -- agents that fail -------------------------------------------------------------------------------------------------


class FailsOnRequest(ReverseLink):
    """Raises when the application asks."""

    def on_request(self, demand: Demand) -> None:
        raise LookupError("no such height")


class FailsInTwoLines(ReverseLink):
    """Raises with a text of two lines."""

    def on_release(self) -> None:
        raise LookupError("no such height\nin the table")


class FailsToStart(ReverseLink):
    """Raises when it is made."""

    @classmethod
    def start(cls, node: int, initial: Any, parameters: Any, rng: Random) -> Self:
        raise LookupError("no such height")


class FailsToPlan(ReverseLink):
    """Raises when the network is laid out."""

    @classmethod
    def initial(cls, graph: Any, parameters: Any) -> list[Any]:
        raise LookupError("no such height")


class AsksForTooMuch(ReverseLink):
    """Asks for what no backend can do."""

    def on_request(self, demand: Demand) -> None:
        self.broadcast(0, demand)  # type: ignore[arg-type]


@pytest.mark.parametrize("agent", [FailsOnRequest, FailsInTwoLines, FailsToStart, FailsToPlan, AsksForTooMuch])
def test_agent_that_raises(
    agent: type[ReverseLink], invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line says which node failed in what; the traceback is in the run directory, and a replay shows it again."""
    monkeypatch.setitem(ALGORITHMS, "fails", agent)
    code, out, err = invoke("run", write_tiny(tmp_path, algorithm="fails"), "--out", tmp_path / "runs")
    run = only_run(tmp_path / "runs")
    assert (code, err) == (1, "")
    assert re.search(r"^contract +failed  \(1 offence \(in 1 of 1 repetitions\)\)$", out, re.MULTILINE), out
    assert "NOT AS EXPECTED: contract is failed, expected ok\n" in out
    trace = (run / "error.txt").read_text()
    assert trace.startswith("repetition 0:\nTraceback")
    if agent is not AsksForTooMuch:
        (offender,) = [line for line in out.splitlines() if "LookupError: no such height" in line]
        assert "repetition 0: t=" in offender
        assert "LookupError: no such height" in trace
    meta = json.loads((run / "meta.json").read_text())
    assert (meta["status"], meta["exit"]) == ("finished", 1)
    assert invoke("analyze", run)[0] == 1


# -- analyze ----------------------------------------------------------------------------------------------------------


def test_analyze_prints_verdicts_and_the_table(invoke: Invoke, run_dir: Path) -> None:
    """The default is Markdown with the verdicts."""
    code, out, err = invoke("analyze", run_dir)
    assert (code, err) == (0, "")
    assert out.startswith(f"{run_dir}\n")
    assert all(re.search(rf"^{name} +ok", out, re.MULTILINE) for name in ALL_OK)
    assert "timing" not in out, "in virtual time nothing is late"
    assert "| metric " in out


def test_analyze_agrees_with_the_run(invoke: Invoke, run_dir: Path) -> None:
    """From a full log come the verdicts and metrics that the run itself gave."""
    (analysed,) = json.loads(invoke("analyze", run_dir, "--json")[1])["runs"]
    summary = json.loads((run_dir / "summary.json").read_text())
    assert analysed["checks"] == summary["checks"]
    assert analysed["metrics"] == summary["metrics"]
    assert (analysed["status"], analysed["finished"]) == ("finished", True)


def test_analyze_csv(invoke: Invoke, run_dir: Path) -> None:
    """CSV is the table alone, every row as wide as the header."""
    code, out, err = invoke("analyze", run_dir, "--format", "csv")
    rows = list(csv.reader(out.splitlines()))
    assert (code, err) == (0, "")
    assert rows[0] == ["metric", "mean", "± 95 %", "p50", "p95", "max"]
    assert {len(row) for row in rows} == {6}
    assert float(next(row for row in rows if row[0] == "waiting time")[1]) > 0


def test_analyze_latex(invoke: Invoke, run_dir: Path) -> None:
    """LaTeX is a tabular that compiles: specials are escaped, rows end."""
    code, out, err = invoke("analyze", run_dir, "--format", "latex")
    first, *body, last = out.splitlines()
    assert (code, err) == (0, "")
    assert (first, last) == (r"\begin{tabular}{lrrrrr}", r"\end{tabular}")
    assert body[0] == r"metric & mean & $\pm$ 95 \% & p50 & p95 & max \\"
    assert all(line.endswith(r" \\") and line.count("&") == 5 for line in body if line != r"\hline")


def test_analyze_by_a_key(invoke: Invoke, tmp_path: Path) -> None:
    """Several runs are labelled by the value of a key, in every format."""
    for rate in ("0.1", "0.2"):
        invoke("run", write_tiny(tmp_path, workload=f"{{rate: {rate}}}"), "--out", tmp_path / "runs")
    runs = sorted((tmp_path / "runs").iterdir(), key=lambda run: (run / "scenario.yaml").read_text())
    code, out, _ = invoke("analyze", *runs, "--by", "workload.rate", "--format", "csv")
    rows = list(csv.reader(out.splitlines()))
    assert code == 0
    assert [row[0] for row in rows] == ["workload.rate", "0.1", "0.2"]
    document = json.loads(invoke("analyze", *runs, "--by", "workload.rate", "--json")[1])
    assert document["by"] == "workload.rate"
    assert [run["label"] for run in document["runs"]] == ["0.1", "0.2"]
    assert "| workload.rate |" in invoke("analyze", *runs, "--by", "workload.rate")[1]
    code, out, err = invoke("analyze", *runs, "--by", "workload.rat")
    assert (code, out) == (2, "")
    assert is_one_line(err)
    assert "workload.rat" in err


def replace(name: str, content: bytes | None) -> Callable[[Path], None]:
    """A file of the run with other content, or gone."""

    def apply(run: Path) -> None:
        (run / name).unlink()
        if content is not None:
            (run / name).write_bytes(content)

    return apply


def edit(old: str, new: str) -> Callable[[Path], None]:
    """The log with something else in it."""

    def apply(run: Path) -> None:
        path = run / "rep-000/events.jsonl"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return apply


BROKEN_RUNS = {
    "no meta": (replace("meta.json", None), ""),
    "meta cut short": (replace("meta.json", b'{"status'), "meta.json"),
    "meta of another kind": (replace("meta.json", b"[]"), "meta.json"),
    "meta not text": (replace("meta.json", b"\xff\xfe"), "meta.json"),
    "summary cut short": (replace("summary.json", b'{"checks'), "summary.json"),
    "summary of nothing": (replace("summary.json", b"{}"), "summary.json"),
    "log not text": (replace("rep-000/events.jsonl", b'\xff\xfe"\n'), "events.jsonl"),
    "line that is no JSON": (edit("\n", "\nnot JSON\n"), "events.jsonl:2"),
    "line that is no event": (edit("\n", "\n[]\n"), "events.jsonl:2"),
    "line without end": (edit("\n", "\n" + "[" * 100_000 + "\n"), "events.jsonl:2"),
    "later version": (edit(f'"version":{VERSION}', '"version":99'), "events.jsonl"),
    "unknown trace level": (edit('"trace":"events"', '"trace":"all"'), "events.jsonl"),
    "unknown node": (edit('"node":0,"kind":"enter"', '"node":99,"kind":"enter"'), "events.jsonl"),
    "time that is none": (edit('\n{"t":', '\n{"t":"x","u":'), "events.jsonl"),
    "kind that is none": (edit('"kind":"enter"', '"kind":["enter"]'), "events.jsonl"),
    "event that lacks a field": (edit('"kind":"enter","units":1', '"kind":"enter"'), "events.jsonl"),
}


@pytest.mark.parametrize("form", ["md", "csv"])
@pytest.mark.parametrize(("damage", "named"), BROKEN_RUNS.values(), ids=BROKEN_RUNS.keys())
def test_analyze_of_a_broken_directory(
    damage: Callable[[Path], None], named: str, form: str, invoke: Invoke, run_dir: Path
) -> None:
    """A directory with a file that cannot be read is one line that names the file, and exit code 2."""
    damage(run_dir)
    code, out, err = invoke("analyze", run_dir, "--format", form)
    assert (code, out) == (2, "")
    assert is_one_line(err), err
    assert err.startswith(f"testbed: {run_dir}")
    assert named in err


@pytest.mark.parametrize("content", [None, b"a: [", b"\xff\xfe", b"!!python/name:os.system x"])
def test_analyze_by_a_broken_scenario(content: bytes | None, invoke: Invoke, run_dir: Path) -> None:
    """A run whose scenario cannot be read cannot be labelled by it, and says so."""
    replace("scenario.yaml", content)(run_dir)
    code, out, err = invoke("analyze", run_dir, "--by", "nodes")
    assert (code, out) == (2, "")
    assert is_one_line(err), err
    assert "scenario.yaml" in err


@pytest.mark.parametrize("name", ["tiny.yaml", "nowhere", "."])
def test_analyze_of_something_else(name: str, invoke: Invoke, tmp_path: Path) -> None:
    """A file, a folder or nothing at all is no run directory."""
    write_tiny(tmp_path)
    code, out, err = invoke("analyze", tmp_path / name)
    assert (code, out) == (2, "")
    assert is_one_line(err)
    assert err.startswith(f"testbed: {tmp_path / name}: not a run directory")


# -- smoke ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def smoke_folder(tmp_path: Path) -> Path:
    """One scenario that passes, one whose expectation fails, one that is broken."""
    folder = tmp_path / "smoke"
    folder.mkdir()
    (folder / "a_passes.yaml").write_text(tiny("expect: {checks: {safety: ok}}\n"))
    (folder / "b_is_broken.yaml").write_text(tiny("sed: 3\n"))
    (folder / "c_fails.yaml").write_text(tiny(FAILS))
    return folder


def test_smoke_tells_each_outcome(invoke: Invoke, smoke_folder: Path, tmp_path: Path) -> None:
    """Every scenario has its line and its problems below it; one that is broken does not stop the others."""
    code, out, err = invoke("smoke", smoke_folder, "--out", tmp_path / "runs")
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines if line.endswith(".yaml")] == ["ok", "FAIL", "FAIL"]
    assert "b_is_broken.yaml:7: sed: found unknown key" in lines[2]
    assert "waiting_time.mean is" in lines[4]
    assert lines[-1] == "1 passed, 2 failed"


def test_smoke_json(invoke: Invoke, smoke_folder: Path, tmp_path: Path) -> None:
    """With --json stdout is one document."""
    code, out, err = invoke("smoke", smoke_folder, "--json", "--out", tmp_path / "runs")
    document = json.loads(out)
    assert (code, err) == (1, "")
    assert (document["passed"], document["failed"]) == (1, 2)
    assert [bool(one["problems"]) for one in document["scenarios"]] == [False, True, True]


def test_smoke_junit(invoke: Invoke, smoke_folder: Path, tmp_path: Path) -> None:
    """The report counts a failed expectation as a failure and a broken scenario as an error."""
    report = tmp_path / "reports/junit.xml"
    code, _, _ = invoke("smoke", smoke_folder, "--junit", report, "--out", tmp_path / "runs")
    suite = ElementTree.parse(report).getroot()
    assert code == 1
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "3", "failures": "1", "errors": "1",
    }  # fmt: skip
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert cases == {"a_passes": [], "b_is_broken": ["error"], "c_fails": ["failure"]}


def test_smoke_passes(invoke: Invoke, smoke_folder: Path, tmp_path: Path) -> None:
    """A folder where all is well gives exit code 0."""
    (smoke_folder / "b_is_broken.yaml").unlink()
    (smoke_folder / "c_fails.yaml").unlink()
    code, out, _ = invoke("smoke", smoke_folder, "--out", tmp_path / "runs")
    assert code == 0
    assert out.endswith("1 passed, 0 failed\n")


def test_smoke_survives_an_agent_that_raises(
    invoke: Invoke, smoke_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent's failure fails its scenario alone."""
    monkeypatch.setitem(ALGORITHMS, "fails", FailsToStart)
    (smoke_folder / "a_passes.yaml").write_text(tiny(algorithm="fails"))
    code, out, _ = invoke("smoke", smoke_folder, "--out", tmp_path / "runs")
    assert code == 1
    assert out.endswith("0 passed, 3 failed\n")


@pytest.mark.parametrize("make", [True, False])
def test_smoke_without_scenarios(make: bool, invoke: Invoke, tmp_path: Path) -> None:
    """A folder that is empty or not there is a mistake, not a success."""
    folder = tmp_path / "empty"
    if make:
        folder.mkdir()
    code, out, err = invoke("smoke", folder)
    assert (code, out) == (2, "")
    assert is_one_line(err)
    assert str(folder) in err


def test_smoke_junit_that_cannot_be_written(invoke: Invoke, smoke_folder: Path, tmp_path: Path) -> None:
    """A report that cannot be written is one line and exit code 2."""
    code, _, err = invoke("smoke", smoke_folder, "--junit", smoke_folder, "--out", tmp_path / "runs")
    assert code == 2
    assert is_one_line(err)
    assert str(smoke_folder) in err


# -- list, doctor, help -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("what", "name"), [("algorithms", "rl"), ("backends", "sim"), ("checks", "safety")])
def test_list(what: str, name: str, invoke: Invoke) -> None:
    """Names with one line on each, as text and as JSON."""
    code, out, err = invoke("list", what)
    assert (code, err) == (0, "")
    assert re.search(rf"^{name} +\S", out, re.MULTILINE)
    entries = json.loads(invoke("list", what, "--json")[1])
    assert len(entries) == len(out.splitlines())
    assert all(summary for summary in entries.values())


def test_doctor(invoke: Invoke) -> None:
    """The simulator runs everywhere; what is not installed says how to get it."""
    code, out, err = invoke("doctor")
    assert (code, err) == (0, "")
    assert re.search(r"^ +sim +ok$", out, re.MULTILINE)
    facts = json.loads(invoke("doctor", "--json")[1])
    assert facts["backends"]["sim"] == {"ok": True, "missing": None}
    assert all(extra["ok"] != bool(extra["fix"]) for extra in facts["extras"].values())
    assert out.count("to get it: ") == sum(not extra["ok"] for extra in facts["extras"].values())


@pytest.mark.parametrize(
    "name",
    ["", "run", "compare", "reproduce", "mobility", "analyze", "replay", "smoke", "list", "export", "new",
     "guest", "guest prepare", "guest run", "clean", "doctor"],
)  # fmt: skip
def test_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command has a help text that ends with the exit codes."""
    with pytest.raises(SystemExit) as left:
        main([*name.split(), "--help"])
    captured = capsys.readouterr()
    assert left.value.code == 0
    assert captured.out.startswith(f"usage: testbed {name}".rstrip())
    assert re.search(r"exit codes: 0 all well;\s.*130\s+interrupted", captured.out, re.DOTALL)
    assert captured.err == ""


@pytest.mark.parametrize(
    "arguments", [[], ["bogus"], ["run"], ["list", "bogus"], ["analyze"], ["replay", "x"], ["run", "x", "--bogus"]]
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One line on stderr, which names the command for help."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    captured = capsys.readouterr()
    assert left.value.code == 2
    assert captured.out == ""
    assert is_one_line(captured.err)
    assert re.fullmatch(r"testbed: .* \(see testbed( \w+)? --help\)\n", captured.err)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["smoke", "--backend", "bogus"], "--backend: found 'bogus'; allowed: sim,"),
        (["mobility", "convert"], "mobility takes one scenario, or `convert` and two trace files"),
        (["mobility", "convert", "a.tr"], "mobility takes one scenario, or `convert` and two trace files"),
        (
            ["export", "x.yaml", "--to", "mininet-wifi", "--set", "medium=ours"],
            "--set medium=ours: allowed: medium=wmed",
        ),
        (
            ["run", "tiny.yaml", "--backend", "hwsim", "--set", "nodes=70000"],
            "--set nodes=70000: nodes: found 70000; allowed: at most 65000 stations with backend hwsim",
        ),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], says: str, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that a command can find before it starts anything is reported at once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(HwsimBackend, "missing", lambda backend: None)
    write_tiny(tmp_path)
    code, out, err = invoke(*arguments)
    assert (code, out) == (2, "")
    assert is_one_line(err)
    assert err.startswith(f"testbed: {says}")


def test_not_enough_memory(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network too large for the machine is one line as well."""

    def execute(arguments: object) -> int:
        raise MemoryError

    monkeypatch.setattr(doctor, "execute", execute)
    assert invoke("doctor") == (3, "", "testbed: this machine has not enough memory for that\n")


# -- what a user's machine need not have ------------------------------------------------------------------------------

HEAVY = ("pandas", "seaborn", "matplotlib", "numpy")
PROBE = f"""
import sys
from testbed.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
sys.exit(" ".join(name for name in {HEAVY} if name in sys.modules))
"""


@pytest.mark.parametrize("arguments", [["--help"], ["run", "tiny.yaml"], ["analyze", "--help"], ["doctor"]])
def test_heavy_modules_are_not_imported(arguments: list[str], tmp_path: Path) -> None:
    """Neither help nor a run imports what only plots need; empty modules make sure that an import would succeed."""
    write_tiny(tmp_path)
    for name in HEAVY:
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / f"lib/{name}.py").touch()
    path = os.pathsep.join([str(tmp_path / "lib"), str(PROJECT)])
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stderr.strip() == ""
    assert done.stdout


# -- terminals and pipes ----------------------------------------------------------------------------------------------


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Both ends of a pseudo terminal."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    yield ours, theirs
    for end in (ours, theirs):
        os.close(end)


def test_progress_on_a_terminal(terminal: tuple[int, int], tmp_path: Path) -> None:
    """A terminal sees a bar, which is wiped at the end; stdout has the result alone."""
    ours, theirs = terminal
    line = command_line("run", write_tiny(tmp_path, "repeat: 3\n"), "--json", "--out", tmp_path / "runs")
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=theirs, timeout=60)
    assert done.returncode == 0
    shown = os.read(ours, 100_000).decode()
    assert re.search(r"\[[#.]{20}\] +\d+% tiny, 0 of 3 repetitions done: ", shown)
    assert shown.endswith("\r\x1b[K")
    assert json.loads(done.stdout)["scenario"] == "tiny"


def test_no_progress_without_a_terminal(terminal: tuple[int, int], tmp_path: Path) -> None:
    """A file or a pipe as stderr stays empty, even if stdout is a terminal."""
    _, theirs = terminal
    line = command_line("run", write_tiny(tmp_path, "repeat: 3\n"), "--out", tmp_path / "runs")
    done = subprocess.run(line, stdout=theirs, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_reader_that_goes_away(tmp_path: Path) -> None:
    """A pipe whose reader has gone causes no traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(command_line("list", "checks"), stdout=writer, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(writer)
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["at the end", "at once"])
def test_output_that_cannot_be_written(unbuffered: str) -> None:
    """A full disk under stdout is one line, and not the exit code of a check that failed."""
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command_line("list", "checks"), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=env
        )
    assert (done.returncode, done.stderr) == (3, "testbed: No space left on device\n")


def test_command_is_installed() -> None:
    """The command `testbed` is the same as the module."""
    script = shutil.which("testbed", path=str(Path(sys.executable).parent))
    assert script
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout == command("--version").stdout != ""
