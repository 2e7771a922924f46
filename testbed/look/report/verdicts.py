"""Verdicts as a reader needs them: the word, what was found, and how to see the moment."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agents.contract import TICKS
from analysis.check import FAILED, INCONCLUSIVE, MAX_OFFENDERS, NOT_CHECKED, OK
from analysis.meanings import MEANINGS, SAME
from testbed.experiments.failed import add_replays
from testbed.look.report.blocks import Cell, badge, command, verdict_cell
from testbed.look.report.values import items, line, mapping, name
from testbed.look.view.page_file import page_file

FAILED_LOGS = "failed"
"""The folder of the logs of failed repetitions, in a run directory or in that of a comparison."""
_REPLAY = re.compile(
    r"testbed replay (?P<log>.{1,5000}) --repetition (?P<repetition>\d{1,9}) --node (?P<node>\d{1,9})"
    r" --until (?P<until>\d{1,12}(\.\d{1,9})?)",
    re.ASCII,
)


@dataclass(frozen=True)
class Moment:
    """The first offence of a failed check, in a log that was kept."""

    log: Path
    """A run directory."""
    repetition: int
    node: int
    ticks: int

    @classmethod
    def of(cls, log: Path, repetition: Any, first: Any) -> Moment | None:
        """None if the check does not say where its offence is."""
        counts = [repetition, mapping(first).get("node"), mapping(first).get("t")]
        return cls(log, *counts) if all(map(_is_count, counts)) else None

    @classmethod
    def of_command(cls, command_line: Any, folder: Path) -> Moment | None:
        """The moment that a command of `replay` names; a log in `folder` is found also if that was moved."""
        found = _REPLAY.fullmatch(command_line) if isinstance(command_line, str) else None
        if found is None:
            return None
        try:
            (log,) = shlex.split(found["log"])
        except ValueError:  # quotes that do not fit, or several words
            return None
        kept = folder / FAILED_LOGS / Path(log).name
        ticks = round(Decimal(found["until"]) * TICKS)
        return cls(kept if kept.is_dir() else Path(log), int(found["repetition"]), int(found["node"]), ticks)

    def replay(self) -> str:
        """The command that replays the node until then."""
        first = {"node": self.node, "t": self.ticks}
        judged = {"it": {"verdict": FAILED, "first": first}}
        add_replays(judged, [{"log": str(self.log), "repetition": self.repetition, "checks": judged}])
        return str(judged["it"]["replay"])

    def view(self) -> str:
        """The command that makes the page which `link` leads to, opened at this moment."""
        at = f"{self.ticks / TICKS:.9f}".rstrip("0").rstrip(".")
        return f"testbed view {shlex.quote(str(self.log))} --repetition {self.repetition} --at {at}"

    def link(self, page_folder: Path) -> str | None:
        """The address of the moment in the viewer, as seen from the page; None if there is no viewer of it."""
        file = page_file(self.log, self.repetition)
        if not file.is_file():
            return None
        place = os.path.relpath(file.resolve(), page_folder.resolve())
        return f"./{quote(place)}#t={self.ticks}&node={self.node}"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def word_of(check: Any) -> str:
    """The verdict of a check."""
    return name(mapping(check).get("verdict", "not checked"))


def overall(checks: Mapping[str, Any]) -> str:
    """One word for all checks: what failed or shows nothing comes first, and what could not be checked last."""
    found = {word_of(check) for check in checks.values()}
    return next((word for word in (FAILED, INCONCLUSIVE, OK) if word in found), NOT_CHECKED)


def overall_cell(checks: Mapping[str, Any]) -> Cell:
    """The same as a cell of a table, with the names of the checks that it is due to."""
    word = overall(checks)
    cell = verdict_cell(word)
    if word == OK:
        return cell
    due_to = ", ".join(name(one) for one, check in checks.items() if word_of(check) == word)
    return Cell(f"{cell.text}: {due_to}", cell.value, cell.mark)


def meaning_of(check_name: str, shares: str) -> str:
    """What a check means for what is shared; empty if that is not known.

    The table of meanings says for some what differs from tokens; a reader of one verdict does not have the table.
    """
    meaning = MEANINGS.get(check_name)
    words = str(getattr(meaning, shares, "")) if shares else ""
    if meaning is None or not words.startswith((SAME, "also ")):
        return words
    more = words.removeprefix(SAME).removeprefix(";").strip()
    how = "this " if words.startswith(f"{SAME} ") else ""
    return f"{meaning.tokens}; {how}{more}" if more else meaning.tokens


def verdict_list(
    checks: Mapping[str, Any], moments: Mapping[str, Moment | None], page_folder: Path | None, shares: str = ""
) -> str:
    """Every check: the failed ones first, with their offences and how to see the first of them.

    A page that is in no folder has no links to files. `shares` is a field of `analysis.meanings.Meaning`: with it,
    every check is explained.
    """
    order = sorted(checks, key=lambda one: word_of(checks[one]) != FAILED)
    entries = (_entry(one, checks[one], moments.get(one), page_folder, shares) for one in order)
    return f'<ul class="verdicts">{"".join(entries)}</ul>\n'


def _entry(check_name: str, check: Any, moment: Moment | None, page_folder: Path | None, shares: str) -> str:
    found = mapping(check)
    word, detail = word_of(check), line(found.get("detail") or "")
    meaning = meaning_of(check_name, shares)
    parts = [
        f"{badge(word)} <strong><bdi>{escape(name(check_name))}</bdi></strong> <bdi>{escape(detail)}</bdi>",
        f'<p class="about">{escape(meaning)}</p>' if meaning else "",
    ]
    if word == FAILED:
        parts.append(_offences(items(found.get("offenders"))))
        parts.append(_ways_to_see(moment, found.get("replay"), page_folder))
    return f"<li>{''.join(parts)}</li>\n"


def _offences(offenders: Sequence[Any]) -> str:
    shown = "".join(f"<li><bdi>{escape(line(one))}</bdi></li>" for one in offenders[:MAX_OFFENDERS])
    return f'<ol class="offences">{shown}</ol>' if shown else ""


def _ways_to_see(moment: Moment | None, replay: Any, page_folder: Path | None) -> str:
    if moment is None:
        return command(line(replay)) if isinstance(replay, str) else ""
    link = None if page_folder is None else moment.link(page_folder)
    opened = "" if link is None else f'<p><a href="{escape(link)}">See this moment in the viewer</a></p>'
    return command(moment.replay()) + command(moment.view()) + opened
