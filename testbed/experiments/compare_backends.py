"""Worlds side by side on one scenario: what the links, and then real time, make of an algorithm.

A world is a backend with links. The simulator is two worlds: with ideal links, as the papers have them, and with the
link layer over simulated radio. Every other backend is one, with the link layer over what it has for radio.

Virtual time does not mind company, so repetitions of the simulator are spread over the cores. In real time whatever
else is running would be measured along, so those repetitions come afterwards, one after the other and alone, and leave
their run directories with the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agents.pacing import PacedParameters
from analysis.tables import columns_table, number
from testbed.scenario import yaml_reader
from testbed.backends.registry import BACKENDS
from testbed.experiments.compare import Contender, closing_lines, draw, parse_names, with_algorithm, write_files
from testbed.scenario.links import IdealChoice
from testbed.experiments.grid import Job, spread
from testbed.progress import Report
from testbed.experiments.runner import load_backend, run
from testbed.experiments.run_directory import fresh_directory
from testbed.scenario.schema import Scenario, build, loads

SIM = "sim"


@dataclass(frozen=True)
class World:
    """A backend with the links that it is to have."""

    name: str
    backend: str
    links: Literal["ideal", "radio"]


@dataclass(frozen=True)
class Subject:
    """The scenario that goes through the worlds.

    If it does not say how often heights are raised, every world does as its links want it. To say 0 with ideal links is
    to say nothing: that is how a scenario with its defaults written out has it.
    """

    scenario: Scenario
    paced_by_links: bool

    @classmethod
    def load(cls, path: Path, overrides: list[str] | None = None) -> Subject:
        """Read a scenario file, as `testbed.scenario.schema.load` does."""
        return cls.build(yaml_reader.read(path), overrides)

    @classmethod
    def build(cls, document: yaml_reader.Document, overrides: list[str] | None = None) -> Subject:
        """Check a document and see what it says of itself."""
        scenario = build(document, overrides)
        algorithm = document.data["algorithm"]
        said = algorithm.get("raise_interval") if isinstance(algorithm, dict) else None
        return cls(scenario, said is None or (said == 0 and isinstance(scenario.links, IdealChoice)))

    def data(self) -> dict[str, Any]:
        """All that the scenario says, with the defaults that are the same in every world."""
        data = self.scenario.model_dump()
        if self.paced_by_links:
            data["algorithm"].pop("raise_interval", None)
        return data

    def in_world(self, world: World, algorithm: str) -> Scenario:
        """The scenario as it is run there. Radio links are the scenario's own, or the default if it has none."""
        data = {**self.data(), "backend": world.backend}
        if world.backend != "mininet-wifi":
            data["medium"] = "ours"
        if world.links != self.scenario.links.kind:
            data["links"] = {"kind": world.links}
        return with_algorithm(loads(yaml_reader.dump(data), name=f"{self.scenario.name} in {world.name}"), algorithm)

    def worlds(self, backends: Sequence[str]) -> tuple[list[World], list[str]]:
        """The worlds of these backends that the scenario can go through, and why not through the others."""
        worlds, notes = [], []
        for backend in backends:
            if backend != SIM:
                worlds.append(World(backend, backend, "radio"))
                continue
            radio = self.scenario.radio
            if radio is not None and radio.propagation.is_fading:
                kind = radio.propagation.kind
                notes.append(
                    f"No sim ideal: {kind} gives each frame a power of its own, which ideal links cannot have."
                )
            else:
                worlds.append(World("sim ideal", SIM, "ideal"))
            worlds.append(World("sim radio", SIM, "radio"))
        return worlds, notes


@dataclass(frozen=True)
class Column:
    """One algorithm in one world: the scenario as it ran there, what came of it, and where its logs are."""

    world: World
    scenario: Scenario
    measured: Contender
    run_dir: Path | None

    @property
    def algorithm(self) -> str:
        """Its name."""
        return self.scenario.algorithm.name

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "algorithm": self.algorithm,
            "world": self.world.name,
            "backend": self.world.backend,
            "links": self.world.links,
            **({} if self.run_dir is None else {"run_dir": str(self.run_dir)}),
            **self.measured.metrics(),
            "checks": self.measured.checks(),
        }


@dataclass(frozen=True)
class WorldComparison:
    """Every algorithm in every world."""

    subject: Subject
    algorithms: list[str]
    worlds: list[World]
    columns: list[Column]
    notes: list[str]
    out: Path

    @property
    def failures(self) -> list[str]:
        """A line for every check that failed."""
        return [line for column in self.columns for line in column.measured.failures()]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "scenario": self.subject.scenario.name,
            "worlds": [world.name for world in self.worlds],
            "rows": [column.as_dict() for column in self.columns],
            "notes": self.notes,
            "directory": str(self.out),
        }

    def render(self) -> str:
        """A table for every algorithm, what is to be known of them, what failed, and where everything is."""
        scenario = self.subject.scenario
        parts = [f"{scenario.name}: {scenario.nodes} nodes, {scenario.repeat} repetitions in every world\n"]
        for name in self.algorithms:
            columns = [column for column in self.columns if column.algorithm == name]
            table = columns_table([(one.world.name, one.measured.metrics(), one.measured.verdict()) for one in columns])
            parts += [f"## {name}\n", table.render("md") + _pacing(columns)]
        notes = "".join(f"{line}\n" for line in self.notes)
        logs = "".join(f"{one.measured.name}: {one.run_dir}\n" for one in self.columns if one.run_dir is not None)
        parts.append(f"{notes}{logs}{closing_lines(self.failures, self.out)}")
        return "\n".join(parts)

    def write(self) -> None:
        """Put the tables, the data, the scenario and the figure into the directory."""
        write_files(self.out, yaml_reader.dump(self.subject.data()), self.render(), self.as_dict())
        draw(
            [
                one
                for column in self.columns
                for one in column.measured.figure_records(algorithm=column.algorithm, world=column.world.name)
            ],
            self.out,
            by="world",
        )


def _pacing(columns: list[Column]) -> str:
    """How often heights are raised, where that differs: then not only the links do."""
    intervals = {}
    for column in columns:
        parameters = column.scenario.algorithm.parameters
        if isinstance(parameters, PacedParameters):
            intervals[column.world.name] = parameters.raise_interval
    if len(set(intervals.values())) < 2:
        return ""
    listed = ", ".join(f"{number(interval)} in {world}" for world, interval in intervals.items())
    return f"\nraise_interval is {listed}.\n"


def compare_worlds(
    subject: Subject, algorithms: Sequence[str] | None, backends: Sequence[str], out: Path, report: Report
) -> WorldComparison:
    """Run every algorithm, or the scenario's own, in every world of the backends."""
    names = list(algorithms or [subject.scenario.algorithm.name])
    worlds, notes = subject.worlds(backends)
    cells = [(world, subject.in_world(world, name)) for name in names for world in worlds]
    real_time = {name for name in backends if load_backend(name).REAL_TIME}
    with fresh_directory(out, f"compare-{subject.scenario.name}") as directory:
        results = _run_all([scenario for _, scenario in cells], real_time, directory, report)
        columns = [
            Column(world, scenario, Contender(f"{scenario.algorithm.name} in {world.name}", repetitions), run_dir)
            for (world, scenario), (repetitions, run_dir) in zip(cells, results, strict=True)
        ]
        comparison = WorldComparison(subject, names, worlds, columns, notes, directory)
        comparison.write()
    return comparison


_Outcome = tuple[list[dict[str, Any]], Path | None]
"""Repetitions, and the run directory if there is one."""


def _run_all(scenarios: list[Scenario], real_time: set[str], directory: Path, report: Report) -> list[_Outcome]:
    """Virtual time first, over the cores; then real time, one after the other with nothing beside it."""
    outcomes: dict[int, _Outcome] = {}
    virtual = [index for index, one in enumerate(scenarios) if one.backend not in real_time]
    real = [index for index, one in enumerate(scenarios) if one.backend in real_time]
    jobs = [Job(scenarios[index], number) for index in virtual for number in range(scenarios[index].repeat)]
    seconds = {index: scenarios[index].repeat * _expected_seconds(scenarios[index]) for index in real}
    done, total = 0.0, len(jobs) + sum(seconds.values())

    def share_of(weight: float) -> Report:
        begin = done
        return lambda share, what: report((begin + share * weight) / total, what)

    if jobs:
        results = iter(spread(jobs, f"{scenarios[0].name}, in virtual time", share_of(len(jobs))))
        for index in virtual:
            outcomes[index] = [next(results) for _ in range(scenarios[index].repeat)], None
        done += len(jobs)
    for index in real:
        result = run(scenarios[index], directory, share_of(seconds[index]))
        outcomes[index] = result.summary["repetitions"], result.path
        done += seconds[index]
    return [outcomes[index] for index in range(len(scenarios))]


def _expected_seconds(scenario: Scenario) -> float:
    """About how long a repetition takes in real time, for the progress shown; in virtual time it counts as a second."""
    units = scenario.duration
    if units is None:
        units = (scenario.entries or 1) / (scenario.nodes * scenario.workload.rate)
    return units * scenario.time_unit


def parse_backends(text: str) -> list[str]:
    """The backends to compare, each registered and named once."""
    return parse_names("--backends", text, BACKENDS, 1, "one or more different backends, as in sim")
