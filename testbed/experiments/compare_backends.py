"""Backends side by side on one scenario: how the links, and then real time, change the results of an algorithm.

A column is a backend with a kind of links. The simulator has two columns: ideal links, as the papers assume them, and
the link layer over simulated radio. Every other backend has one: the link layer over its own radio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agents.pacing import PacedParameters
from analysis.results import Results
from analysis.tables import Table, columns_table, number
from testbed.backends.registry import BACKENDS, usable_backend
from testbed.experiments.compare import (
    closing_lines,
    comparison_html,
    draw,
    figure_records,
    write_files,
)
from testbed.experiments.grid import Point, PointResult, as_results, reuse_note, run_points
from testbed.experiments.run_directory import fresh_directory
from testbed.experiments.studies.open import kept_in
from testbed.experiments.variants import Variant, name_variants, parse_names, resolved
from testbed.progress import Report
from testbed.scenario import yaml_reader
from testbed.scenario.links import IdealChoice
from testbed.scenario.loader import Note, build, loads, no_note
from testbed.scenario.schema import Scenario

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Column:
    """A backend with a kind of links."""

    name: str
    backend: str
    links: Literal["ideal", "radio"]


@dataclass(frozen=True)
class Subject:
    """The scenario that is run in every column.

    If the scenario does not set `raise_interval`, every column uses the default of its links. A value of 0 with ideal
    links counts as not set, because a scenario with its defaults written out has it.
    """

    scenario: Scenario
    paced_by_links: bool

    @classmethod
    def load(cls, path: Path, overrides: list[str] | None = None, note: Note = no_note) -> Subject:
        """Read a scenario file, as `testbed.scenario.loader.load` does."""
        return cls.build(yaml_reader.read(path), overrides, note)

    @classmethod
    def build(cls, document: yaml_reader.Document, overrides: list[str] | None = None, note: Note = no_note) -> Subject:
        """Check a document, and whether it sets `raise_interval` itself."""
        scenario = build(document, overrides, note)
        algorithm = document.data["algorithm"]
        found = algorithm.get("raise_interval") if isinstance(algorithm, dict) else None
        return cls(scenario, found is None or (found == 0 and isinstance(scenario.links, IdealChoice)))

    def data(self) -> dict[str, Any]:
        """All keys of the scenario, with the defaults that are the same in every column."""
        data = self.scenario.model_dump()
        if self.paced_by_links:
            data["algorithm"].pop("raise_interval", None)
        return data

    def point(self, column: Column, variant: Variant) -> Point:
        """The scenario as a variant runs it in a column.

        Radio links are the scenario's own, or the default if it has none.
        """
        data = {**self.data(), "backend": column.backend}
        if self.scenario.medium not in usable_backend(column.backend).media:
            data["medium"] = "ours"
        if column.links != self.scenario.links.kind:
            data["links"] = {"kind": column.links}
        scenario = loads(yaml_reader.dump(data), name=f"{self.scenario.name} in {column.name}")
        return Point(f"{variant.name} in {column.name}", variant.applied_to(scenario))

    def columns(self, backends: Sequence[str]) -> tuple[list[Column], list[str]]:
        """The columns of these backends that the scenario can have, and a note on each that it cannot have."""
        columns, notes = [], []
        for backend in backends:
            if not usable_backend(backend).has_ideal_links:
                columns.append(Column(backend, backend, "radio"))
                continue
            radio = self.scenario.radio
            if radio is not None and radio.propagation.is_fading:
                kind = radio.propagation.kind
                notes.append(
                    f"No {backend} ideal: {kind} gives each frame a power of its own, which ideal links cannot have."
                )
            else:
                columns.append(Column(f"{backend} ideal", backend, "ideal"))
            columns.append(Column(f"{backend} radio", backend, "radio"))
        return columns, notes


@dataclass(frozen=True)
class BackendResult:
    """The results of one variant in one column."""

    variant: Variant
    column: Column
    result: PointResult

    @property
    def scenario(self) -> Scenario:
        """The scenario as it ran in the column."""
        return self.result.point.scenario

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        directory = self.result.run_directory
        return {
            "algorithm": self.variant.name,
            **resolved(self.scenario),
            "world": self.column.name,
            "backend": self.column.backend,
            "links": self.column.links,
            **({} if directory is None else {"run_dir": str(directory)}),
            **self.result.metrics(),
            "checks": self.result.checks(),
        }


@dataclass(frozen=True)
class BackendComparison:
    """Every variant in every column."""

    subject: Subject
    variants: list[Variant]
    columns: list[Column]
    cells: list[BackendResult]
    notes: list[str]
    out: Path

    @property
    def results(self) -> Results:
        """As figures, tables and frames take them."""
        points = (({"algorithm": one.variant.name, "world": one.column.name}, one.result) for one in self.cells)
        return as_results(self.subject.scenario.name, points, ["algorithm", "world"])

    def frame(self) -> pd.DataFrame:
        """One row for every repetition of every variant in every column; needs pandas."""
        from analysis.frames import results_frame

        return results_frame(self.results)

    def _repr_html_(self) -> str:
        notes = [*self.notes, *self.failures, *self.inconclusive]
        tables = (comparison_html(variant.name, self.table(variant), []) for variant in self.variants)
        return comparison_html(self.subject.scenario.name, Table((), []), notes) + "".join(tables)

    @property
    def failures(self) -> list[str]:
        """A line for every check that failed, and for every repetition that was lost."""
        return [line for one in self.cells for line in one.result.failures()]

    @property
    def inconclusive(self) -> list[str]:
        """A line for every check of which the runs show nothing."""
        return [line for one in self.cells for line in one.result.inconclusive()]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "scenario": self.subject.scenario.name,
            "worlds": [column.name for column in self.columns],
            "rows": [one.as_dict() for one in self.cells],
            "notes": self.notes,
            "directory": str(self.out),
        }

    def render(self) -> str:
        """A table for every variant, notes, what failed, and where the files are."""
        scenario = self.subject.scenario
        parts = [f"{scenario.name}: {scenario.nodes} nodes, {scenario.repeat} repetitions in every column\n"]
        for variant in self.variants:
            parts += [f"## {variant.name}\n", self.table(variant).render("md") + _pacing(self._of(variant))]
        notes = "".join(f"{line}\n" for line in self.notes)
        directories = [(one.result.name, one.result.run_directory) for one in self.cells]
        logs = "".join(f"{name}: {directory}\n" for name, directory in directories if directory is not None)
        parts.append(f"{notes}{logs}{closing_lines([*self.failures, *self.inconclusive], self.out)}")
        return "\n".join(parts)

    def table(self, variant: Variant) -> Table:
        """A column for every backend, of one variant."""
        shown = [(one.column.name, one.result.metrics(), one.result.verdict()) for one in self._of(variant)]
        return columns_table(shown)

    def _of(self, variant: Variant) -> list[BackendResult]:
        return [one for one in self.cells if one.variant.name == variant.name]

    def write(self) -> None:
        """Put the tables, the data, the scenario and the figure into the directory."""
        write_files(self.out, yaml_reader.dump(self.subject.data()), self.render(), self.as_dict())
        draw(
            [
                record
                for one in self.cells
                for record in figure_records(one.result, algorithm=one.variant.name, backend=one.column.name)
            ],
            self.out,
            by="backend",
        )


def _pacing(results: list[BackendResult]) -> str:
    """A line on `raise_interval` if it differs between columns: then not only the links differ."""
    intervals = {}
    for one in results:
        parameters = one.scenario.algorithm.parameters
        if isinstance(parameters, PacedParameters):
            intervals[one.column.name] = parameters.raise_interval
    if len(set(intervals.values())) < 2:
        return ""
    listed = ", ".join(f"{number(interval)} in {column}" for column, interval in intervals.items())
    return f"\nraise_interval is {listed}.\n"


def compare_backends(
    subject: Subject,
    variants: Sequence[Variant],
    backends: Sequence[str],
    out: Path,
    report: Report,
    store: Path | None = None,
    *,
    fresh: bool = False,
) -> BackendComparison:
    """Run every variant, or only the algorithm of the scenario, in every column of the backends."""
    own = Variant.of(subject.scenario.algorithm)
    named = name_variants(variants or [own], subject.scenario, ("raise_interval",) if subject.paced_by_links else ())
    columns, notes = subject.columns(backends)
    cells = [(variant, column, subject.point(column, variant)) for variant in named.variants for column in columns]
    with fresh_directory(out, f"compare-{subject.scenario.name}") as directory:
        points = [point for _, _, point in cells]
        with kept_in(store) as kept:
            what = f"{subject.scenario.name}, in virtual time"
            results = run_points(points, what, directory, report, kept, fresh=fresh)
        found = [BackendResult(*cell[:2], result) for cell, result in zip(cells, results, strict=True)]
        notes = [*named.notes, *notes, *reuse_note(results, store)]
        comparison = BackendComparison(subject, named.variants, columns, found, notes, directory)
        comparison.write()
    return comparison


def parse_backends(text: str) -> list[str]:
    """The backends to compare, each registered and named once."""
    return parse_names("--backends", text, BACKENDS, "one or more different backends, as in sim")
