"""`testbed compare`: algorithms and variants of them on the same network and load, with paired differences."""

import json
from pathlib import Path

import pytest

from agents.registry import ALGORITHMS
from agents.rl import ReverseLink
from analysis import stats
from testbed.cli.main import main
from testbed.experiments.compare import compare
from testbed.experiments.variants import Variant
from testbed.scenario.loader import loads
from tests.agents.rl_variants import KeptToken
from tests.testbed.backends.sim.test_simulation import MOBILE
from tests.testbed.simulate import WITHOUT_GROUPS, prepare
from tests.testbed.tiny import killed

TEXT = """
name: side-by-side
algorithm: rl
nodes: 10
topology: {kind: random, connectivity: 0.4, link_change_rate: 0.1}
workload: {rate: 0.1, cs_time: {exponential: 1}}
duration: 200
repeat: 4
"""


@pytest.fixture
def scenario_file(tmp_path):
    path = tmp_path / "scenario.yaml"
    path.write_text(TEXT)
    return path


def conditions(algorithm: str) -> dict:
    """The conditions of an algorithm: the graph, the planned link changes, every node's first think and CS times."""
    run = prepare(algorithm=algorithm, topology=MOBILE, workload={"rate": 0.1, "cs_time": {"exponential": 1.0}})
    simulation, changes = run.simulation, []
    graph = simulation.graph.links()
    up, down = simulation.links.up, simulation.links.down
    simulation.links.up = lambda a, b: (changes.append((simulation.now, "up", a, b)), up(a, b))
    simulation.links.down = lambda a, b: (changes.append((simulation.now, "down", a, b)), down(a, b))
    simulation.run_all(lambda share: None)
    inside: dict[int, list[float]] = {node: [] for node in range(10)}
    entered: dict[int, float] = {}
    for event in run.diary.of("enter", "exit"):
        if event["kind"] == "enter":
            entered[event["node"]] = event["t"]
        else:
            inside[event["node"]].append(round(event["t"] - entered[event["node"]], 6))
    first = {node: next(e["t"] for e in run.diary.of("request") if e["node"] == node) for node in range(10)}
    return {
        "graph": graph,
        "changes": changes,
        "first requests": first,
        "cs times": {n: t[:5] for n, t in inside.items()},
    }


def test_every_algorithm_has_the_same_conditions():
    """Topology, link changes, think times and CS times do not depend on the algorithm, unless nodes leave."""
    first, *others = [conditions(name) for name in WITHOUT_GROUPS]
    assert len(others) > 1
    assert len(first["changes"]) > 50
    for other in others:
        assert other == first


def test_rows_and_paired_differences(scenario_file, tmp_path, capsys):
    """One row an algorithm with means and intervals; differences are taken repetition by repetition."""
    command = ["compare", str(scenario_file), "--algorithms", "rl,raymond-tree", "--out", str(tmp_path), "--json"]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["algorithm"] for row in document["rows"]] == ["rl", "raymond-tree"]
    assert {"mean", "ci95", "p50", "p95", "max"} <= document["rows"][0]["waiting_time"].keys()
    comparison = compare(loads(TEXT), [Variant("rl"), Variant("raymond-tree")], tmp_path, lambda share, what: None)
    base, other = comparison.variants
    pairs = list(zip(other.values("messages_per_cs"), base.values("messages_per_cs"), strict=True))
    assert len(pairs) == 4
    expected = [mine - of_base for mine, of_base in pairs]
    assert document["rows"][1]["difference"]["messages_per_cs"] == {
        "mean": stats.mean(expected),
        "ci95": stats.ci95(expected),
    }
    assert document["rows"][0]["difference"]["waiting_time"]["mean"] == 0


def test_it_is_the_run_of_each_algorithm(scenario_file, tmp_path, capsys):
    """A row's numbers are those of `testbed run` with that algorithm."""
    main(["compare", str(scenario_file), "--algorithms", "raymond-tree,rl", "--out", str(tmp_path), "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    main(["run", str(scenario_file), "--out", str(tmp_path), "--json"])
    alone = json.loads(capsys.readouterr().out)
    assert rows[1]["waiting_time"] == alone["metrics"]["waiting_time"]
    assert rows[1]["messages_per_cs"] == alone["metrics"]["messages_per_cs"]


def test_table_and_files(scenario_file, tmp_path, capsys):
    """The text names every algorithm, and the directory holds table, data, scenario and figure."""
    assert main(["compare", str(scenario_file), "--algorithms", "rl,raymond-tree", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "| rl " in text
    assert "| raymond-tree" in text
    assert "Differences are from rl, in pairs" in text
    (folder,) = tmp_path.glob("compare-side-by-side-*")
    assert "The network: mean degree" in (folder / "report.md").read_text()
    names = {path.name for path in folder.iterdir()}
    assert names == {"report.md", "rows.json", "scenario.yaml", "comparison.png", "comparison.svg", "comparison.pdf"}


def test_a_failed_check_fails_the_comparison(scenario_file, tmp_path, capsys, monkeypatch):
    """Exit code 1, and the line says which algorithm and what."""
    monkeypatch.setitem(ALGORITHMS, "kept", KeptToken)
    assert main(["compare", str(scenario_file), "--algorithms", "rl,kept", "--out", str(tmp_path)]) == 1
    assert "kept: safety failed" in capsys.readouterr().out


@pytest.mark.parametrize("algorithms", ["rl", "rl,rl", "rl,unknown", "", ","])
def test_bad_lists_of_algorithms(algorithms, scenario_file, tmp_path, capsys):
    """One line, exit code 2, nothing run."""
    assert main(["compare", str(scenario_file), "--algorithms", algorithms, "--out", str(tmp_path / "runs")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_scenario_that_does_not_fit_an_algorithm_is_refused(tmp_path, capsys):
    """A fault that names a message another algorithm does not have."""
    path = tmp_path / "faulty.yaml"
    path.write_text(TEXT + "faults: [{at: 10, kind: lose, node: 1, message: LinkInfo}]\n")
    assert main(["compare", str(path), "--algorithms", "rl,raymond-tree", "--out", str(tmp_path / "runs")]) == 2
    assert "--algorithms raymond-tree: faults.0.message: found 'LinkInfo'" in capsys.readouterr().err


# -- variants ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def compared(scenario_file, tmp_path, capsys, monkeypatch):
    """Runs a comparison with these options; returns its JSON document."""

    def run(*options: str) -> dict:
        monkeypatch.setattr("testbed.experiments.compare.plots_missing", lambda: "not drawn here")
        assert main(["compare", str(scenario_file), *options, "--out", str(tmp_path / "out"), "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert json.loads((Path(document["directory"]) / "rows.json").read_text()) == document
        return document

    return run


def test_variants_differ_in_what_they_say(compared):
    """Two tokens let two nodes in at once and three tokens three; the rows have the parameters in full."""
    document = compared("--variant", "krl k=2", "--variant", "krl k=3", "--set", "workload.rate=1")
    assert document["baseline"] == "krl k=2"
    assert [row["algorithm"] for row in document["rows"]] == ["krl k=2", "krl k=3"]
    assert [row["peak_units"]["mean"] for row in document["rows"]] == [2, 3]
    assert [row["parameters"] for row in document["rows"]] == [
        {"name": "krl", "raise_interval": 0, "detect_partitions": False, "k": k} for k in (2, 3)
    ]
    assert [row["clusters"] for row in document["rows"]] == [None, None]


def test_a_variant_in_clusters(compared):
    """One unit in each cluster, so that two nodes are in at once."""
    document = compared("--algorithms", "ricart-agrawala", "--variant", "ricart-agrawala clusters=2",
                        "--set", "workload.rate=1", "--set", "topology=complete")  # fmt: skip
    assert [row["algorithm"] for row in document["rows"]] == ["ricart-agrawala", "ricart-agrawala clusters=2"]
    assert [row["clusters"] for row in document["rows"]] == [None, 2]
    assert [row["peak_units"]["mean"] for row in document["rows"]] == [1, 2]


def test_algorithms_are_variants_with_no_keys_of_their_own(compared, tmp_path):
    """They come first, then those of the file, then those of the options; and the numbers are the same."""
    path = tmp_path / "variants.yaml"
    path.write_text("algorithms: [{name: krl, k: 2, label: two}]\n")
    several = compared("--variant", "krl k=4", "--variants", str(path), "--algorithms", "rl,krl")
    assert [row["algorithm"] for row in several["rows"]] == ["rl", "krl k=3", "two", "krl k=4"]
    plain = compared("--algorithms", "rl,krl")
    as_variants = compared("--variant", "rl", "--variant", "krl")
    assert plain["rows"] == as_variants["rows"]
    assert [{**row, "algorithm": ""} for row in plain["rows"]] == [
        {**row, "algorithm": ""} for row in several["rows"][:2]
    ]


def test_all_algorithms_that_fit(scenario_file, tmp_path, capsys, monkeypatch):
    """The report says after the table which were left out."""
    monkeypatch.setattr("testbed.experiments.compare.plots_missing", lambda: "not drawn here")
    small = ["--set", "nodes=3", "--set", "topology=complete", "--set", "duration=20", "--set", "repeat=1"]
    command = ["compare", str(scenario_file), "--algorithms", "all", *small, "--out", str(tmp_path / "out")]
    assert main(command) == 0
    table, _, rest = capsys.readouterr().out.partition("\n\nDifferences")
    assert "| ricart-agrawala " in table
    assert "| krl " not in table
    assert "\nNo krl: algorithm: found {" in rest
    assert main([*command, "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert [note for note in notes if note.startswith("No krlf: ")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "found nothing to compare; allowed: one or more of --algorithms, --variant, --variants and --backends"),
        (["--variant", "krl k=2"], "found only krl; allowed: two or more algorithms or variants"),
        (["--algorithms", "rl"], "found only rl; allowed: two or more algorithms or variants"),
    ],
)
def test_fewer_than_two(options, said, scenario_file, tmp_path, capsys):
    """One line, exit code 2, nothing run."""
    assert main(["compare", str(scenario_file), *options, "--out", str(tmp_path / "runs")]) == 2
    assert capsys.readouterr().err == f"testbed: compare: {said}\n"
    assert not (tmp_path / "runs").exists()


# -- worker processes that are killed ---------------------------------------------------------------------------------


def killed_comparison(algorithms, repetitions, scenario_file, tmp_path, capsys, monkeypatch) -> tuple[str, dict]:
    """The text of a comparison in which these repetitions of the algorithm `killed` are killed, and its rows."""
    monkeypatch.setattr("testbed.experiments.compare.plots_missing", lambda: "not drawn here")
    monkeypatch.setitem(ALGORITHMS, "killed", killed(ReverseLink, *repetitions))
    assert main(["compare", str(scenario_file), "--algorithms", algorithms, "--out", str(tmp_path / "out")]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    (folder,) = (tmp_path / "out").glob("compare-*")
    assert out == (folder / "report.md").read_text()
    return out, {row["algorithm"]: row for row in json.loads((folder / "rows.json").read_text())["rows"]}


def cells(text: str, algorithm: str) -> list[str]:
    """The row of an algorithm in the table."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {algorithm} ")]
    return [cell.strip() for cell in line.split("|")[2:-1]]


def test_a_killed_worker_costs_its_repetition_only(scenario_file, tmp_path, capsys, monkeypatch):
    """Exit code 1 and one line; the difference is over the repetitions that both algorithms have."""
    text, rows = killed_comparison("rl,killed", [2], scenario_file, tmp_path, capsys, monkeypatch)
    assert [line for line in text.splitlines() if "worker process" in line] == [
        "killed, repetition 2: its worker process was killed by signal 9; is there enough memory?"
    ]
    assert cells(text, "rl")[-1] == "ok"
    assert cells(text, "killed")[-1] == "1 of 4 repetitions LOST"
    assert rows["killed"]["difference"] == {metric: {"mean": 0, "ci95": 0} for metric in rows["rl"]["difference"]}
    assert rows["killed"]["waiting_time"]["mean"] != rows["rl"]["waiting_time"]["mean"]


@pytest.mark.parametrize("algorithms", ["rl,killed", "killed,rl"])
def test_an_algorithm_without_any_results(algorithms, scenario_file, tmp_path, capsys, monkeypatch):
    """All its repetitions were killed: its cells are empty, whichever is the baseline, and the others are intact."""
    text, rows = killed_comparison(algorithms, range(4), scenario_file, tmp_path, capsys, monkeypatch)
    alone = compare(loads(TEXT), [Variant("rl"), Variant("krl")], tmp_path / "alone", lambda share, what: None)
    assert {key: rows["rl"][key] for key in alone.variants[0].metrics()} == alone.variants[0].metrics()
    assert cells(text, "rl")[0] == f"{alone.variants[0].mean('waiting_time'):.4g}"
    assert cells(text, "rl")[-1] == "ok"
    assert cells(text, "killed")[:-1] == ["-"] * 11
    assert cells(text, "killed")[-1] == "4 of 4 repetitions LOST"
    assert text.count("its worker process was killed by signal 9") == 4
    assert "The network: mean degree 3.6" in text
