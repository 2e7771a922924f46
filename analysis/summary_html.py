"""Results as HTML, for notebooks: the verdicts and a table, everything escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from analysis.check import FAILED, OK
from analysis.tables import Table

_COLOURS = {OK: "#1a7f37", FAILED: "#cf222e"}
_OTHER = "#9a6700"
_CELL = "text-align:right;padding:2px 8px"
_LABEL = "text-align:left;padding:2px 8px;white-space:pre"


def summary_html(title: str, checks: Mapping[str, Mapping[str, Any]], table: Table, notes: Sequence[str] = ()) -> str:
    """A title, a line with the verdict of every check, the table, and lines below it."""
    verdicts = " &middot; ".join(_verdict(name, check) for name, check in checks.items())
    below = "".join(f"<div>{escape(line)}</div>" for line in notes)
    return f"<div><b>{escape(title)}</b><div>{verdicts}</div>{table_html(table)}{below}</div>"


def table_html(table: Table) -> str:
    """A table; the first column is a label."""
    head = "".join(_cell("th", index, text) for index, text in enumerate(table.header))
    rows = "".join(
        f"<tr>{''.join(_cell('td', index, text) for index, text in enumerate(row))}</tr>" for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(tag: str, index: int, text: str) -> str:
    return f'<{tag} style="{_CELL if index else _LABEL}">{escape(text)}</{tag}>'


def _verdict(name: str, check: Mapping[str, Any]) -> str:
    """A check and what it says; what it found is shown by hovering over it."""
    verdict = str(check.get("verdict", ""))
    found = "; ".join([str(check.get("detail", "")), *map(str, check.get("offenders", ()))]).strip("; ")
    colour = _COLOURS.get(verdict, _OTHER)
    return f'<span title="{escape(found)}">{escape(name)} <b style="color:{colour}">{escape(verdict)}</b></span>'
