"""Broken scenario files: each is one line on stderr that a user can act on, exit code 2, and no run directory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agents.contract import Parameters
from agents.registry import ALGORITHMS
from agents.rl import ReverseLink
from testbed.cli.main import main
from tests.testbed.tiny import is_one_line, tiny

Refuse = Callable[[Path], str]
DURATION = "a number, {uniform: [low, high]} or {exponential: mean}"
FINITE = "a finite number"
MAPPING = "a mapping of keys"
NUMBER = "a number"
REQUIRED = "a value: this key is required"
WHOLE = "a whole number"


@pytest.fixture
def refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Refuse:
    """Run a file that must be refused; gives the one line that says why, from the file's name on."""

    def run(path: Path, *options: str) -> str:
        out = tmp_path / "runs"
        code = main(["run", str(path), "--out", str(out), *options])
        captured = capsys.readouterr()
        assert code == 2
        assert captured.out == ""
        assert is_one_line(captured.err), captured.err
        assert not out.exists()
        assert captured.err.startswith("testbed: ")
        return captured.err.removeprefix("testbed: ").rstrip("\n")

    return run


def written(folder: Path, content: str | bytes) -> Path:
    """A scenario file with this content."""
    path = folder / "broken.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# -- a key with a wrong value ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Broken:
    """A broken scenario and what its error line must say; `allowed` is how that text begins."""

    text: str
    line: int
    key: str
    found: str
    allowed: str
    nearest: str | None = None


def explicit(*links: str) -> str:
    """The scenario with these links, the first of them in line 7."""
    return tiny(topology="\n  kind: explicit\n  links:\n" + "\n".join(f"    - {link}" for link in links))


def fault(keys: str) -> str:
    """The scenario with one fault, in line 8."""
    return tiny(f"faults:\n  - {{{keys}}}\n")


def expecting(what: str, line: str) -> str:
    """The scenario with one expectation, in line 9."""
    return tiny(f"expect:\n  {what}:\n    {line}\n")


def scripted(request: str, more: str = "", **changes: str | None) -> str:
    """The scenario with a script of one request, in line 7."""
    return tiny(more, workload=f"\n  requests:\n    - {{{request}}}", **changes)


UNKNOWN_KEYS = {
    "top level": Broken(tiny("durration: 3\n"), 7, "durration", "unknown key", "one of name,", "duration"),
    "other case": Broken(tiny("Seed: 3\n"), 7, "Seed", "unknown key", "one of name,", "seed"),
    "like nothing": Broken(tiny("zzz: 3\n"), 7, "zzz", "unknown key", "one of name,"),
    "in workload": Broken(
        tiny(workload="{rate: 1, cs_tme: 1}"), 5, "workload.cs_tme", "unknown key", "one of rate, contention,",
        "cs_time",
    ),
    "in topology": Broken(
        tiny(topology="{kind: random, conectivity: 1}"), 4, "topology.conectivity", "unknown key", "one of kind,",
        "connectivity",
    ),
    "in delays": Broken(tiny("delays:\n  hopp: 1\n"), 8, "delays.hopp", "unknown key", "one of hop, send", "hop"),
    "in a fault": Broken(fault("at: 1, kind: crash, nod: 1"), 8, "faults.0.nod", "unknown key", "one of at,", "node"),
    "in expect": Broken(tiny("expect:\n  check: {}\n"), 8, "expect.check", "unknown key", "one of checks,", "checks"),
    "in a bound": Broken(
        expecting("metrics", "waiting_time: {mean: {mx: 3}}"), 9, "expect.metrics.waiting_time.mean.mx", "unknown key",
        "one of min, max", "max",
    ),
    "parameter of another algorithm": Broken(
        tiny(algorithm="{name: rl, k: 2}"), 2, "algorithm.k", "unknown key", "one of name"
    ),
    "metric": Broken(
        expecting("metrics", "waiting_tme.mean: {max: 3}"), 9, "expect.metrics.waiting_tme.mean", "unknown key",
        "one of entries,", "waiting_time",
    ),
    "check": Broken(
        expecting("checks", "safty: ok"), 9, "expect.checks.safty", "unknown key", "one of safety,", "safety"
    ),
    "number": Broken(tiny("5: 3\n"), 7, "5", "unknown key", "one of name,"),
    "superscript": Broken(tiny("²: 3\n"), 7, "²", "unknown key", "one of name,"),
    "with a dot": Broken(tiny("workload.rate: 3\n"), 7, "workload.rate", "unknown key", "one of name,"),
    "merge": Broken(tiny("<<: {seed: 2}\n"), 7, "<<", "unknown key", "one of name,"),
}  # fmt: skip

WRONG_TYPES = {
    "whole number": Broken(tiny(nodes="five"), 3, "nodes", "'five'", WHOLE),
    "fraction": Broken(tiny(nodes="5.5"), 3, "nodes", "5.5", WHOLE),
    "number": Broken(tiny(duration="long"), 6, "duration", "'long'", NUMBER),
    "text": Broken(tiny(name="5"), 1, "name", "5", "text"),
    "mapping": Broken(tiny(workload="3"), 5, "workload", "3", MAPPING),
    "list": Broken(tiny("faults: 3\n"), 7, "faults", "3", "a list"),
    "yes or no": Broken(
        fault("at: 1, kind: crash, holder: yes"), 8, "faults.0.holder", "'yes'", "true or false"
    ),
    "choice": Broken(tiny("trace: [cs]\n"), 7, "trace", "['cs']", "one of"),
    "time": Broken(tiny(workload="{rate: 1, cs_time: soon}"), 5, "workload.cs_time", "'soon'", DURATION),
    "item of a list": Broken(fault("at: 1, kind: cut, group: [1, a]"), 8, "faults.0.group.1", "'a'", WHOLE),
    "link": Broken(explicit("[0, 1]", "3"), 8, "topology.links.1", "3", "a list"),
    "end of a link": Broken(explicit("[0, one]"), 7, "topology.links.0.1", "'one'", WHOLE),
    "bound": Broken(
        expecting("metrics", "time: {mean: {max: low}}"), 9, "expect.metrics.time.mean.max", "'low'", NUMBER
    ),
    "bare bound": Broken(
        expecting("metrics", "waiting_time: {mean: 3}"), 9, "expect.metrics.waiting_time.mean", "3", MAPPING
    ),
    "algorithm": Broken(tiny(algorithm="[rl]"), 2, "algorithm", "['rl']", "{name: ..., and its parameters}"),
    "name of an algorithm": Broken(tiny(algorithm="{name: [rl]}"), 2, "algorithm.name", "['rl']", "one of rl"),
    "topology": Broken(tiny(topology="3"), 4, "topology", "3", MAPPING),
    "bool for a whole number": Broken(tiny(nodes="true"), 3, "nodes", "True", WHOLE),
    "bool for a number": Broken(tiny(workload="{rate: true}"), 5, "workload.rate", "True", "0, a number from 1e-09"),
    "bool for a time": Broken(tiny(workload="{rate: 1, cs_time: true}"), 5, "workload.cs_time", "True", DURATION),
    "nothing": Broken(tiny("seed: ~\n"), 7, "seed", "None", WHOLE),
    "no such bool": Broken(tiny("seed: !!bool maybe\n"), 7, "seed", "'maybe'", ""),
}  # fmt: skip

WRONG_VALUES = {
    "negative rate": Broken(tiny(workload="{rate: -0.1}"), 5, "workload.rate", "-0.1", ""),
    "rate of zero": Broken(tiny(workload="{rate: 0}"), 5, "workload.rate", "0", ""),
    "no nodes": Broken(tiny(nodes="0"), 3, "nodes", "0", "at least 1"),
    "no repetitions": Broken(tiny("repeat: 0\n"), 7, "repeat", "0", "at least 1"),
    "not a number": Broken(tiny("drain: .nan\n"), 7, "drain", "nan", FINITE),
    "infinity": Broken(tiny(duration=".inf"), 6, "duration", "inf", FINITE),
    "beyond a float": Broken(tiny(duration="1e400"), 6, "duration", "inf", FINITE),
    "infinite time": Broken(tiny("delays: {hop: .inf}\n"), 7, "delays.hop", "inf", DURATION),
    "negative time": Broken(tiny("delays: {hop: -1}\n"), 7, "delays.hop", "-1", DURATION),
    "mean of zero": Broken(tiny("delays: {hop: {exponential: 0}}\n"), 7, "delays.hop", "{'exponential': 0}", DURATION),
    "low above high": Broken(
        tiny("delays: {hop: {uniform: [2, 1]}}\n"), 7, "delays.hop", "{'uniform': [2, 1]}", DURATION
    ),
    "negative seed": Broken(tiny("seed: -1\n"), 7, "seed", "-1", "at least 0"),
    "text as seed": Broken(tiny("seed: abc\n"), 7, "seed", "'abc'", WHOLE),
    "slash in the name": Broken(tiny(name="a/b"), 1, "name", "'a/b'", ""),
    "name of dots": Broken(tiny(name=".."), 1, "name", "'..'", ""),
    "empty name": Broken(tiny(name="''"), 1, "name", "''", ""),
    "line feed in the name": Broken(tiny(name='"a\\n"'), 1, "name", r"'a\n'", ""),
    "unknown algorithm": Broken(tiny(algorithm="rll"), 2, "algorithm.name", "'rll'", "one of rl", "rl"),
    "unknown backend": Broken(tiny("backend: simm\n"), 7, "backend", "'simm'", "one of sim", "sim"),
    "unknown trace level": Broken(tiny("trace: event\n"), 7, "trace", "'event'", "one of 'metrics', 'cs'"),
    "unknown topology": Broken(tiny(topology="compleet"), 4, "topology.kind", "'compleet'", "one of "),
    "unknown kind of topology": Broken(tiny(topology="\n  kind: ring"), 5, "topology.kind", "'ring'", "one of "),
    "connectivity above 1": Broken(
        tiny(topology="{kind: random, connectivity: 1.5}"), 4, "topology.connectivity", "1.5", "at most 1"
    ),
    "connectivity of zero": Broken(
        tiny(topology="{kind: random, connectivity: 0}"), 4, "topology.connectivity", "0", "more than 0"
    ),
    "connectivity too small": Broken(
        tiny(topology="{kind: random, connectivity: 0.1}"), 4, "topology.connectivity", "0.1, which gives 1 links",
        "at least 0.4: 5 nodes",
    ),
    "negative change rate": Broken(
        tiny(topology="{kind: random, connectivity: 1, link_change_rate: -1}"), 4, "topology.link_change_rate", "-1",
        "at least 0",
    ),
    "more units than there are": Broken(
        tiny(workload="{rate: 1, units: 2}"), 5, "workload.units", "2", "at most 1, which is all that rl gives"
    ),
    "no clusters": Broken(tiny("clusters: 0\n"), 7, "clusters", "0", "at least 1"),
    "more clusters than nodes": Broken(tiny("clusters: 6\n"), 7, "clusters", "6", "at most the number of nodes, 5"),
    "unknown verdict": Broken(
        expecting("checks", "safety: fine"), 9, "expect.checks.safety", "'fine'", "one of 'ok', 'failed'"
    ),
}  # fmt: skip

MISSING = {
    "name": Broken(tiny(name=None), 1, "name", "nothing", REQUIRED),
    "algorithm": Broken(tiny(algorithm=None), 1, "algorithm", "nothing", REQUIRED),
    "nodes": Broken(tiny(nodes=None), 1, "nodes", "nothing", REQUIRED),
    "topology": Broken(tiny(topology=None), 1, "topology", "nothing", REQUIRED),
    "workload": Broken(tiny(workload=None), 1, "workload", "nothing", REQUIRED),
    "rate": Broken(tiny(workload="{}"), 5, "workload.rate", "nothing", "requests per time unit, or workload.requests"),
    "name of the algorithm": Broken(tiny(algorithm="{}"), 2, "algorithm.name", "nothing", "one of rl"),
    "kind of topology": Broken(tiny(topology="{connectivity: 1}"), 4, "topology.kind", "nothing", ""),
    "connectivity": Broken(tiny(topology="random"), 4, "topology.connectivity", "nothing", REQUIRED),
    "time of a fault": Broken(fault("kind: crash, node: 1"), 8, "faults.0.at", "nothing", REQUIRED),
}

CONTRADICTIONS = {
    "duration and entries": Broken(
        tiny("entries: 3\n"), 6, "duration", "both duration and entries", "one of duration"
    ),
    "neither duration nor entries": Broken(
        tiny(duration=None), 1, "duration", "neither duration nor entries", "one of duration"
    ),
    "warmup as long as the run": Broken(tiny("warmup: 50\n"), 7, "warmup", "50", "less than duration, 50"),
    "ideal links where time is real": Broken(
        tiny("backend: loopback\nlinks: ideal\n"), 8, "links", "ideal", "radio: loopback is no place for ideal links"
    ),
    "time unit where time is real": Broken(
        tiny("backend: loopback\ntime_unit: 0.0001\n"), 8, "time_unit", "0.0001", "0.001 to 1000 seconds"
    ),
    "kernel routing elsewhere": Broken(
        tiny("routing: babel\nbackend: loopback\n", algorithm="raymond-tree"), 7, "routing", "babel",
        "builtin with backend loopback: only hwsim and mininet-wifi have babel",
    ),
    "routing between neighbours": Broken(
        tiny("routing: batman\nbackend: hwsim\n"), 7, "routing", "batman", "builtin: rl speaks with neighbours only"
    ),
    "clusters that have several units": Broken(
        tiny("clusters: 2\n", algorithm="{name: krl, k: 2}"), 7, "clusters", "2, and krl with 2 units",
        "an algorithm that has one unit, to run in each cluster",
    ),
    "clusters that have several units by default": Broken(
        tiny("clusters: 2\n", algorithm="makki"), 7, "clusters", "2, and makki with 3 units", "an algorithm that has"
    ),
    "more nodes to inform than a cluster has": Broken(
        tiny("clusters: 2\n", algorithm="{name: bv, k: 1, v: 2}"), 2, "algorithm",
        "{'k': 1, 'choice': 'last-seen', 'v': 2, 'inform_to': 'random', 'literal_inform': False}",
        "v at most the number of other nodes, 1 in a cluster",
    ),
    "clusters of one node on links": Broken(
        tiny("clusters: 5\n", algorithm="{name: krl, k: 1}"), 2, "algorithm",
        "{'raise_interval': 0.0, 'detect_partitions': False, 'k': 1}",
        "k less than the number of nodes, 1 in a cluster",
    ),
    "lose over radio": Broken(
        fault("at: 1, kind: lose, node: 1") + "links: radio\n", 8, "faults.0.kind", "lose", "with ideal links only"
    ),
    "link to no node": Broken(explicit("[0, 1]", "[1, 5]"), 8, "topology.links.1", "[1, 5]", "two different nodes"),
    "link to oneself": Broken(explicit("[0, 1]", "[1, 1]"), 8, "topology.links.1", "[1, 1]", "two different nodes"),
    "link twice": Broken(explicit("[0, 1]", "[1, 0]"), 8, "topology.links.1", "[1, 0]", "two different nodes"),
    "link of three": Broken(explicit("[0, 1, 2]"), 7, "topology.links.0", "[0, 1, 2]", ""),
    "link to a negative node": Broken(explicit("[0, -1]"), 7, "topology.links.0.1", "-1", "at least 0"),
    "fault with no subject": Broken(
        fault("at: 1, kind: crash"), 8, "faults.0", "a crash with 0 subjects or the wrong one", "node or holder"
    ),
    "fault with two subjects": Broken(
        fault("at: 1, kind: crash, node: 1, holder: true"), 8, "faults.0", "a crash with 2 subjects or the wrong one",
        "node or holder",
    ),
    "fault with the wrong subject": Broken(
        fault("at: 1, kind: restart, holder: true"), 8, "faults.0", "a restart with 1 subjects or the wrong one", "node"
    ),
    "fault of no node": Broken(fault("at: 1, kind: crash, node: 5"), 8, "faults.0.node", "5", "a node of 0..4"),
    "fault of no such peer": Broken(
        fault("at: 1, kind: cut, node: 0, peer: 5"), 8, "faults.0.peer", "5", "a node of 0..4"
    ),
    "fault of an unknown kind": Broken(
        fault("at: 1, kind: crsh, node: 1"), 8, "faults.0.kind", "'crsh'", "one of 'crash'"
    ),
    "fault after the end": Broken(
        fault("at: 51, kind: crash, node: 1"), 8, "faults.0.at", "51", "at most duration, 50"
    ),
    "fault before the start": Broken(fault("at: -1, kind: crash, node: 1"), 8, "faults.0.at", "-1", "at least 0"),
    "loss of an unknown message": Broken(
        fault("at: 1, kind: lose, node: 1, message: Tokn"), 8, "faults.0.message", "'Tokn'", "one of Request, Token",
        "Token",
    ),
    "message without a loss": Broken(
        fault("at: 1, kind: crash, node: 1, message: Token"), 8, "faults.0.message", "message", "with lose"
    ),
    "peer without a node": Broken(
        fault("at: 1, kind: cut, holder: true, peer: 2"), 8, "faults.0.peer", "peer", "with cut or heal and a node"
    ),
    "peer of itself": Broken(fault("at: 1, kind: cut, node: 2, peer: 2"), 8, "faults.0.peer", "2", ""),
    "cut around no node": Broken(fault("at: 1, kind: cut, group: []"), 8, "faults.0.group", "[]", ""),
    "bounds that exclude everything": Broken(
        expecting("metrics", "waiting_time: {mean: {min: 3, max: 1}}"), 9, "expect.metrics.waiting_time.mean", "", ""
    ),
}  # fmt: skip

UNITS = "a whole number from 1, {uniform: [low, high]} or {weights: {1: 3, 2: 1}}"
PRIORITY = (
    "a whole number up to 1e+09, a list with one for every node, {uniform: [low, high]}, deadline or fewest-first"
)
RATE = "0, a number from 1e-09 to 1e+09, or a list with one for every node"


def load(keys: str, key: str, found: str, allowed: str) -> Broken:
    """A workload with a wrong value."""
    return Broken(
        tiny(workload=f"{{rate: 1, {keys}}}", algorithm="{name: hk, k: 3}"), 5, f"workload.{key}", found, allowed
    )


def rate(value: str, found: str, allowed: str) -> Broken:
    """A workload with a wrong rate."""
    return Broken(tiny(workload=f"{{rate: {value}}}"), 5, "workload.rate", found, allowed)


def contention(keys: str, found: str, allowed: str) -> Broken:
    """A workload with a wrong contention."""
    return Broken(tiny(workload=f"{{{keys}}}"), 5, "workload.contention", found, allowed)


DEMANDS = {
    "several units where a request gets one": Broken(
        tiny(workload="{rate: 1, units: 2}", algorithm="{name: krl, k: 3}"),
        5,
        "workload.units",
        "2",
        "at most 1, which is all that krl gives to one request",
    ),
    "units of zero": load("units: 0", "units", "0", UNITS),
    "units as text": load("units: two", "units", "'two'", UNITS),
    "half a unit": load("units: 1.5", "units", "1.5", UNITS),
    "bool for units": load("units: true", "units", "True", UNITS),
    "more units than there are": load("units: 4", "units", "4", "at most 3, which is all that hk gives to one"),
    "more units than there are, at most": load("units: {uniform: [1, 4]}", "units", "4", "at most 3, which is all"),
    "more units than there are, seldom": load("units: {weights: {1: 9, 5: 1}}", "units", "5", "at most 3, which is"),
    "units from zero": load("units: {uniform: [0, 2]}", "units", "{'uniform': [0, 2]}", UNITS),
    "units from high to low": load("units: {uniform: [3, 2]}", "units", "{'uniform': [3, 2]}", UNITS),
    "a range of one end": load("units: {uniform: [3]}", "units", "{'uniform': [3]}", UNITS),
    "no weights": load("units: {weights: {}}", "units", "{'weights': {}}", UNITS),
    "weights that sum to nothing": load(
        "units: {weights: {1: 0, 2: 0}}", "units", "{'weights': {'1': 0, '2': 0}}", UNITS
    ),
    "a negative weight": load("units: {weights: {1: 2, 2: -1}}", "units", "{'weights': {'1': 2, '2': -1}}", UNITS),
    "a weight that is no number": load("units: {weights: {1: x}}", "units", "{'weights': {'1': 'x'}}", UNITS),
    "bool for a weight": load("units: {weights: {1: true}}", "units", "{'weights': {'1': True}}", UNITS),
    "weight of no units": load("units: {weights: {0: 1}}", "units", "{'weights': {'0': 1}}", UNITS),
    "weight of half a unit": load("units: {weights: {0.5: 1}}", "units", "{'weights': {'0.5': 1}}", UNITS),
    "weight of one number twice": load("units: {weights: {1: 1, 01: 2}}", "units", "", UNITS),
    "weights as a list": load("units: {weights: [1, 2]}", "units", "{'weights': [1, 2]}", UNITS),
    "two choices of units": load("units: {uniform: [1, 2], weights: {1: 1}}", "units", "", UNITS),
    "unknown choice of units": load("units: {normal: 2}", "units", "{'normal': 2}", UNITS),
    "priority as text": load("priority: high", "priority", "'high'", PRIORITY),
    "priority that is too great": load("priority: 1000000001", "priority", "1000000001", PRIORITY),
    "priorities from high to low": load("priority: {uniform: [3, 1]}", "priority", "{'uniform': [3, 1]}", PRIORITY),
    "priority with a fraction": load("priority: 0.5", "priority", "0.5", PRIORITY),
    "no priorities": load("priority: []", "priority", "[]", PRIORITY),
    "priorities for other nodes": load("priority: [1, 2]", "priority", "2 values", "one for each of 5 nodes"),
    "priority by a deadline that is not there": load(
        "priority: deadline", "priority", "deadline", "with workload.deadline, the time that a request has"
    ),
    "negative deadline": load("deadline: -1", "deadline", "-1", DURATION),
    "rates for other nodes": rate("[1, 2]", "2 values", "one for each of 5 nodes"),
    "rates of zero for other nodes": rate("[0, 0]", "2 values", "one for each of 5 nodes"),
    "rates of zero": rate("[0, 0, 0, 0, 0]", "0", "more than 0 for some node, or a script of requests"),
    "no rates": rate("[]", "[]", RATE),
    "a negative rate of one": rate("[1, 1, 1, 1, -1]", "[1, 1, 1, 1, -1]", RATE),
    "a rate that is too small": rate("1e-10", "1e-10", RATE),
    "neither rate nor script": rate("null", "nothing", "requests per time unit, or workload.requests"),
    "an empty script": Broken(tiny(workload="{requests: []}"), 5, "workload.rate", "nothing", "requests per time unit"),
    "rate and contention": load("contention: 0.5", "contention", "both rate and contention", "one of them"),
    "no contention": contention("contention: 0", "0", "more than 0"),
    "contention of one": contention("contention: 1", "1", "less than 1"),
    "contention without critical sections": contention(
        "contention: 0.5, cs_time: 0", "contention", "with a cs_time of more than 0, of which it is a share"
    ),
    "negative patience": Broken(tiny("patience: -1\n"), 7, "patience", "-1", "at least 0"),
    "negative grace": Broken(tiny("grace: -1\n"), 7, "grace", "-1", "at least 0"),
    "negative lag": Broken(
        tiny(topology="{kind: random, connectivity: 1, max_lag: -1}"), 4, "topology.max_lag", "-1", "at least 0"
    ),
}
SCRIPTS = {
    "unknown key": Broken(
        scripted("node: 1, at: 1, unit: 1"), 7, "workload.requests.0.unit", "unknown key", "one of node, at,", "units"
    ),
    "no time": Broken(scripted("node: 1"), 7, "workload.requests.0.at", "nothing", REQUIRED),
    "no node": Broken(scripted("at: 1"), 7, "workload.requests.0.node", "nothing", REQUIRED),
    "a node that does not exist": Broken(
        scripted("node: 5, at: 1"), 7, "workload.requests.0.node", "5", "a node of 0..4"
    ),
    "after the end": Broken(
        scripted("node: 1, at: 50.5"), 7, "workload.requests.0.at", "50.5", "at most duration, 50"
    ),
    "before the start": Broken(scripted("node: 1, at: -1"), 7, "workload.requests.0.at", "-1", "at least 0"),
    "before the load over radio links": Broken(
        scripted("node: 1, at: 4", "links: radio\nwarmup: 5\n"), 7, "workload.requests.0.at", "4",
        "at least warmup, 5: over radio links the load starts then",
    ),
    "units of zero": Broken(scripted("node: 1, at: 1, units: 0"), 7, "workload.requests.0.units", "0", "at least 1"),
    "more units than there are": Broken(
        scripted("node: 1, at: 1, units: 3", algorithm="{name: hk, k: 2}"), 7, "workload.requests.0.units", "3",
        "at most 2, which is all that hk gives to one request",
    ),
    "negative critical section": Broken(
        scripted("node: 1, at: 1, cs_time: -1"), 7, "workload.requests.0.cs_time", "-1", "at least 0"
    ),
    "critical section that is drawn": Broken(
        scripted("node: 1, at: 1, cs_time: {uniform: [1, 2]}"), 7, "workload.requests.0.cs_time",
        "{'uniform': [1, 2]}", NUMBER,
    ),
    "priority that is drawn": Broken(
        scripted("node: 1, at: 1, priority: deadline"), 7, "workload.requests.0.priority", "'deadline'", WHOLE
    ),
    "more entries than requests": Broken(
        scripted("node: 1, at: 1", "entries: 2\n", duration=None), 8, "entries", "2",
        "at most the number of scripted requests, 1: no node asks of itself",
    ),
}  # fmt: skip

CHURN = "groups: 1, departures: 0.05, away: 1"
PLACE = "centre: [50, 50], range: 40"
GEOMETRY = "area: [300, 300]\nplacement: uniform\nradio: {range: 100}\n"


def churned(keys: str = CHURN, more: str = "", algorithm: str = "klme") -> str:
    """The scenario with groups without places, in line 7; more lines follow."""
    return tiny(f"churn: {{{keys}}}\n{more}", algorithm=algorithm)


def placed(*places: str, more: str = "", topology: str = "geometric", geometry: str = GEOMETRY) -> str:
    """The scenario with neighbourhoods, the first of them in line 8; more lines follow."""
    listed = "".join(f"  - {{{place}}}\n" for place in places)
    return tiny(f"neighbourhoods:\n{listed}{geometry}{more}", algorithm="klme", topology=topology)


NEIGHBOURHOODS = {
    "of two that overlap": Broken(
        placed(PLACE, "centre: [80, 90], range: 40"), 9, "neighbourhoods.1.centre", "50 m from neighbourhood 0",
        "at least 80 m, the sum of their ranges",
    ),
    "of two that overlap in height": Broken(
        placed("centre: [50, 50, 0], range: 40", "centre: [50, 50, 30], range: 40"), 9, "neighbourhoods.1.centre",
        "30 m from neighbourhood 0", "at least 80 m, the sum of their ranges",
    ),
    "beyond the radio's range": Broken(
        placed("centre: [150, 150], range: 101"), 8, "neighbourhoods.0.range", "101",
        "at most the radio's range of 100 m: its members hear the place",
    ),
    "without positions": Broken(
        placed(PLACE, topology="complete", geometry=""), 7, "neighbourhoods", "places", "with topology geometric only"
    ),
    "of no range": Broken(placed("centre: [50, 50], range: 0"), 8, "neighbourhoods.0.range", "0", "at least 0.001"),
    "without a range": Broken(placed("centre: [50, 50]"), 8, "neighbourhoods.0.range", "nothing", REQUIRED),
    "without a centre": Broken(placed("range: 40"), 8, "neighbourhoods.0.centre", "nothing", REQUIRED),
    "with no units": Broken(placed(f"{PLACE}, k: 0"), 8, "neighbourhoods.0.k", "0", "at least 1"),
    "with an unknown key": Broken(
        placed(f"{PLACE}, units: 2"), 8, "neighbourhoods.0.units", "unknown key", "one of centre, range, k"
    ),
    "that are no list": Broken(
        tiny("neighbourhoods: 3\n", algorithm="klme"), 7, "neighbourhoods", "3", "a list"
    ),
    "for an algorithm that has none": Broken(
        placed(PLACE).replace("klme", "rl"), 7, "neighbourhoods", "rl", "an algorithm that runs in neighbourhoods: klme"
    ),
    "and churn": Broken(
        placed(PLACE, more=f"churn: {{{CHURN}}}\n"), 12, "churn", "both neighbourhoods and churn", "one of them"
    ),
    "nor churn": Broken(
        tiny(algorithm="klme"), 1, "neighbourhoods", "neither neighbourhoods nor churn",
        "neighbourhoods (places) or churn (groups without places): klme runs in them",
    ),
    "and clusters": Broken(
        churned(more="clusters: 1\n", algorithm="{name: klme, k: 1}"), 8, "clusters", "1",
        "none: klme runs in neighbourhoods",
    ),
    "churn for an algorithm that has none": Broken(
        churned(algorithm="krl"), 7, "churn", "krl", "an algorithm that runs in neighbourhoods: klme"
    ),
    "churn without groups": Broken(churned("departures: 0.05, away: 1"), 7, "churn.groups", "nothing", REQUIRED),
    "churn without departures": Broken(churned("groups: 1, away: 1"), 7, "churn.departures", "nothing", REQUIRED),
    "churn without time away": Broken(churned("groups: 1, departures: 0.05"), 7, "churn.away", "nothing", REQUIRED),
    "churn of no groups": Broken(churned("groups: 0, departures: 1, away: 1"), 7, "churn.groups", "0", "at least 1"),
    "churn with negative departures": Broken(
        churned("groups: 1, departures: -1, away: 1"), 7, "churn.departures", "-1", "at least 0"
    ),
    "churn with negative time away": Broken(
        churned("groups: 1, departures: 1, away: -1"), 7, "churn.away", "-1", DURATION
    ),
    "churn over radio": Broken(churned(more="links: radio\n"), 7, "churn", "churn", "with ideal links only"),
    "no notice": Broken(churned(more="notice: 0\n"), 8, "notice", "0", "more than 0"),
    "negative notice": Broken(churned(more="notice: -1\n"), 8, "notice", "-1", "more than 0"),
    "notice of nothing": Broken(churned(more="notice: ~\n"), 8, "notice", "nothing", "more than 0"),
    "notice without groups": Broken(
        tiny("notice: 1\n"), 7, "notice", "notice", "with neighbourhoods or churn only"
    ),
    "vanish without groups": Broken(
        fault("at: 1, kind: vanish, node: 1"), 8, "faults.0.kind", "vanish", "with neighbourhoods or churn only"
    ),
    "vanish of a group": Broken(
        churned(more="faults:\n  - {at: 1, kind: vanish, group: [1]}\n"), 9, "faults.0",
        "a vanish with 1 subjects or the wrong one", "node or holder",
    ),
    "vanish of no node": Broken(
        churned(more="faults:\n  - {at: 1, kind: vanish, node: 5}\n"), 9, "faults.0.node", "5", "a node of 0..4"
    ),
    "more units than a request gets": Broken(
        churned().replace("{rate: 0.1}", "{rate: 1, units: 2}"), 5, "workload.units", "2",
        "at most 1, which is all that klme gives to one request",
    ),
}  # fmt: skip

YAML_TRICKS = {
    "same key twice": Broken(tiny("nodes: 6\n"), 7, "nodes", "the same key a second time", "each key once"),
    "same nested key twice": Broken(
        tiny(workload="\n  rate: 1\n  rate: 2"), 7, "workload.rate", "the same key a second time", "each key once"
    ),
    "custom tag": Broken(tiny("seed: !dice 6\n"), 7, "seed", "the tag !dice", "plain values"),
    "custom tag of a mapping": Broken(tiny("delays: !dice {hop: 1}\n"), 7, "delays", "the tag !dice", "plain values"),
    "python name": Broken(
        tiny("description: !!python/name:os.system x\n"), 7, "description",
        "the tag tag:yaml.org,2002:python/name:os.system", "plain values",
    ),
    "alias to itself in a list": Broken(
        tiny("faults: &f [*f]\n"), 7, "faults.0", "an alias to a value that contains it", "a finite value"
    ),
    "alias to itself in a mapping": Broken(
        tiny("delays: &d {hop: *d}\n"), 7, "delays.hop", "an alias to a value that contains it", "a finite value"
    ),
    "line feed in a tag": Broken(tiny("seed: !<a%0Ab> 3\n"), 7, "seed", "", "plain values"),
}  # fmt: skip

ALL = {
    f"{kind}: {name}": broken
    for kind, table in (
        ("unknown key", UNKNOWN_KEYS),
        ("wrong type", WRONG_TYPES),
        ("wrong value", WRONG_VALUES),
        ("missing", MISSING),
        ("contradiction", CONTRADICTIONS),
        ("demand", DEMANDS),
        ("script", SCRIPTS),
        ("neighbourhoods", NEIGHBOURHOODS),
        ("yaml", YAML_TRICKS),
    )
    for name, broken in table.items()
}


@pytest.mark.parametrize("broken", ALL.values(), ids=ALL.keys())
def test_broken_key_is_one_line(broken: Broken, refuse: Refuse, tmp_path: Path) -> None:
    """The line names file, line, key, what was found and what is allowed, and the nearest key of a misspelt one."""
    path = written(tmp_path, broken.text)
    line = refuse(path)
    assert line.startswith(f"{path}:{broken.line}: {broken.key}: found {broken.found}")
    assert f"{broken.found}; allowed: {broken.allowed}" in line
    if broken.nearest:
        assert line.endswith(f"(did you mean {broken.nearest}?)")


# -- files that are no scenario at all --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "place", "what"),
    [
        ("", "", "found nothing in the file; allowed: a mapping of keys"),
        ("\n   \n", "", "found nothing in the file; allowed: a mapping of keys"),
        ("# one\n# two\n", "", "found nothing in the file; allowed: a mapping of keys"),
        ("- a\n- b\n", ":1", "found a list; allowed: a mapping of keys"),
        ("5\n", ":1", "allowed: a mapping of keys"),
        ("hello\n", ":1", "allowed: a mapping of keys"),
        (tiny() + "---\n" + tiny(), ":7", "not YAML: "),
        (tiny("seed: [1\nwarmup: 2]\nx\n"), ":8", "not YAML: "),
        (tiny("seed: : :\n"), ":7", "not YAML: "),
        (tiny("delays:\n\thop: 1\n"), ":8", "not YAML: found character '\\t'"),
        (tiny("seed: *nope\n"), ":7", "not YAML: found undefined alias 'nope'"),
        (tiny("[1]: 3\n"), ":7", "found a key that is itself a list or a mapping; allowed: a word"),
        (tiny("? {a: 1}\n: 3\n"), ":7", "found a key that is itself a list or a mapping; allowed: a word"),
        (tiny("'': 3\n"), ":7", "found unknown key; allowed: one of name,"),
        (tiny('"a\\nb": 3\n'), ":7", "found unknown key; allowed: one of name,"),
        (tiny("description: \x01\n"), "", "not YAML: unacceptable character"),
        (b"\x7fELF\x02\x01\x01\x00\x00\xff\xfe", ":1", "found bytes that are not text; allowed: UTF-8"),
        (tiny("description: \xe9\n").encode("latin-1"), ":7", "found bytes that are not text; allowed: UTF-8"),
        (tiny().encode("utf-16"), ":1", "found bytes that are not text; allowed: UTF-8"),
        (b"#" * 300_001, "", "found more than 300000 bytes; allowed: at most 300000 bytes"),
    ],
    ids=[
        "empty", "blank", "comments", "list", "number", "text", "two documents", "syntax", "colons", "tab",
        "undefined alias", "list as key", "mapping as key", "empty key", "line feed in a key", "control character",
        "binary", "latin-1", "utf-16", "too large",
    ],
)  # fmt: skip
def test_no_scenario_is_one_line(content: str | bytes, place: str, what: str, refuse: Refuse, tmp_path: Path) -> None:
    """What is no mapping, no YAML or no text says so, with the line where there is one."""
    path = written(tmp_path, content)
    line = refuse(path)
    assert line.startswith(f"{path}{place}: ")
    assert what in line


@pytest.mark.parametrize("name", ["nowhere.yaml", "nowhere/tiny.yaml", "a" * 400])
def test_missing_file(name: str, refuse: Refuse, tmp_path: Path) -> None:
    """A file that is not there is named."""
    assert refuse(tmp_path / name).startswith(f"{tmp_path / name}: ")


def test_directory(refuse: Refuse, tmp_path: Path) -> None:
    """A folder is no scenario."""
    assert refuse(tmp_path) == f"{tmp_path}: a directory, not a scenario file"


# -- files that attack ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["[touch {}]", "{{args: [touch {}]}}", "touch {}"])
def test_tags_run_no_code(form: str, refuse: Refuse, tmp_path: Path) -> None:
    """A tag that would call a function is refused, and the function is not called."""
    proof = tmp_path / "proof"
    path = written(tmp_path, tiny(f"description: !!python/object/apply:os.system {form.format(proof)}\n"))
    tag = "tag:yaml.org,2002:python/object/apply:os.system"
    assert refuse(path).startswith(f"{path}:7: description: found the tag {tag}; allowed: plain values")
    assert not proof.exists()


def test_billion_laughs_end_soon(refuse: Refuse, tmp_path: Path) -> None:
    """Aliases that expand without bounds are refused within seconds."""
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    for this, last in zip("bcdefghij", "abcdefghi", strict=True):
        bomb += f"{this}: &{this} [{', '.join([f'*{last}'] * 10)}]\n"
    path = written(tmp_path, tiny(bomb))
    begin = time.monotonic()
    line = refuse(path)
    assert time.monotonic() - begin < 5
    assert line.startswith(f"{path}:7: ")
    assert "found more than 100000 values once aliases are expanded" in line


def test_aliases_of_a_long_text_take_no_memory(refuse: Refuse, tmp_path: Path) -> None:
    """Showing what was found does not first make all of its text, which would be 40 MB."""
    aliases = ", ".join(["*x"] * 1000)
    path = written(tmp_path, tiny(f"description: [&x {'x' * 40_000}, {aliases}]\n"))
    tracemalloc.start()
    try:
        line = refuse(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(line) < 1000
    assert peak < 20_000_000


DEEP = 700  # a level takes more than one of the 1000 frames that the stack may have


@pytest.mark.parametrize(
    "value",
    ["[" * DEEP + "]" * DEEP, "{a: " * DEEP + "1" + "}" * DEEP, "\n" + "- " * DEEP + "1"],
    ids=["lists", "mappings", "dashes"],
)
def test_deep_nesting(value: str, refuse: Refuse, tmp_path: Path) -> None:
    """Levels that would overflow the stack are one error line."""
    path = written(tmp_path, tiny(f"description: {value}\n"))
    assert refuse(path) == f"{path}: found values nested too deeply; allowed: a handful of levels"


@pytest.mark.parametrize("depth", [50, 150, 250, 330])
def test_moderate_nesting(depth: int, refuse: Refuse, tmp_path: Path) -> None:
    """What is deep but can be read is refused for its type, and shown cut short."""
    line = refuse(written(tmp_path, tiny(f"description: {'[' * depth}{']' * depth}\n")))
    assert "allowed: text" in line or "nested too deeply" in line
    assert len(line) < 500


# -- numbers without end ----------------------------------------------------------------------------------------------

NINES, HEX = "9" * 400, "0x" + "f" * 5000


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (tiny(nodes=NINES), "3: nodes"),
        (tiny(nodes="9" * 5000), "3: nodes"),
        (tiny(nodes=HEX), "3: nodes"),
        (tiny(f"seed: {'9' * 5000}\n"), "7: seed"),
        (tiny(f"seed: {HEX}\n"), "7: seed"),
        (tiny(duration=NINES), "6: duration"),
        (tiny(duration="1e300"), "6: duration"),
        (tiny(workload="{rate: 1e-300}"), "5: workload.rate"),
        (tiny(workload=f"{{rate: 1, cs_time: {NINES}}}"), "5: workload.cs_time"),
        (tiny(workload="{rate: 1, cs_time: 1e305}"), "5: workload.cs_time"),
        (tiny("delays: {hop: {exponential: 1e305}}\n"), "7: delays.hop"),
        (tiny("delays: {send: 1e305}\n"), "7: delays.send"),
        (tiny("drain: 1e305\n"), "7: drain"),
        (tiny("drain: 1e12\n", workload="{rate: 1, cs_time: 1e10}"), "5: workload.cs_time"),
        (tiny("warmup: 1e305\n", duration=None) + "entries: 3\n", "6: warmup"),
        (tiny("faults: [{at: 1e305, kind: crash, node: 1}]\n", duration=None) + "entries: 3\n", "6: faults.0.at"),
    ],
    ids=[
        "nodes, 400 digits", "nodes, 5000 digits", "nodes, hexadecimal", "seed, 5000 digits", "seed, hexadecimal",
        "duration, 400 digits", "duration", "rate", "time, 400 digits", "time", "mean", "send", "drain",
        "more ticks than 64 bits hold", "warmup", "fault",
    ],
)  # fmt: skip
def test_numbers_too_large_to_run_with(text: str, place: str, refuse: Refuse, tmp_path: Path) -> None:
    """A number that no run can count with is refused at its key, before the run."""
    path = written(tmp_path, text)
    line = refuse(path)
    assert line.startswith(f"{path}:{place}: found ")
    assert not line.endswith("allowed: a number"), "it is one"
    assert len(line) < 300


# -- parameters of algorithms -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tokens(Parameters):
    """As an algorithm with k tokens would declare it."""

    k: int = 1

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError("k of at least 1")

    def check(self, nodes: int) -> None:
        if self.k >= nodes:
            raise ValueError(f"k less than the number of nodes, {nodes}")


class Several(ReverseLink):
    """An algorithm with a parameter."""

    parameters = Tokens


@pytest.mark.parametrize(
    ("parameters", "key", "message"),
    [
        ("k: 5", "algorithm", "found {'k': 5}; allowed: k less than the number of nodes, 5"),
        ("k: 9", "algorithm", "found {'k': 9}; allowed: k less than the number of nodes, 5"),
        ("k: 0", "algorithm", "; allowed: k of at least 1"),
        ("k: two", "algorithm.k", "found 'two'; allowed: a whole number"),
        ("k: true", "algorithm.k", "found True; allowed: a whole number"),
        ("K: 2", "algorithm.K", "found unknown key; allowed: one of name, k (did you mean k?)"),
    ],
)
def test_parameters_of_an_algorithm(
    parameters: str, key: str, message: str, refuse: Refuse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An algorithm refuses its own parameters, alone and against the number of nodes, in its own words."""
    monkeypatch.setitem(ALGORITHMS, "several", Several)
    path = written(tmp_path, tiny(algorithm=f"{{name: several, {parameters}}}"))
    line = refuse(path)
    assert line.startswith(f"{path}:2: {key}: found ")
    assert line.endswith(message)
