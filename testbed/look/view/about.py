"""What a page says of its run, whether it plays a log or follows one that is being written."""

from __future__ import annotations

from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Any

from agents.contract import TICKS
from analysis.events import Start, supports
from testbed.look.page import asset
from testbed.scenario.schema import Scenario


def about(path: Path, scenario: Scenario, repetition: int, start: Start) -> dict[str, Any]:
    """The facts of a run and of the start of one repetition."""
    return {
        "name": scenario.name[:200],
        "description": (scenario.description or "")[:500],
        "directory": str(path),
        "repetition": repetition,
        "algorithm": scenario.algorithm.name,
        "backend": scenario.backend,
        "seed": scenario.seed,
        "nodes": scenario.nodes,
        "trace": start.trace,
        "shares": start.shares,
        "capacity": start.capacity,
        "ticks": TICKS,
        "clusters": list(start.clusters),
        "places": list(start.places),
        "overRadio": start.over_radio,
        "messageFields": _field_names(scenario),
    }


def title_of(scenario: Scenario, repetition: int) -> str:
    """The title of the page."""
    return f"{scenario.name[:200]}, repetition {repetition}"


def body_of(title: str) -> str:
    """The body of the page, as HTML."""
    return asset("view/body.html").replace("TITLE", escape(title), 1)


def trace_notes(trace: str) -> list[str]:
    """What a page cannot show of a log of this trace level."""
    if not supports(trace, "enter"):
        return [
            f"The log has trace level {trace}: no requests, entries, messages, links and states. "
            "Shown: positions, partitions, faults and lost messages. Run with --set trace=events for more."
        ]
    if not supports(trace, "send"):
        return [
            f"The log has trace level {trace}: no messages, tokens, changes of links and states. "
            "Shown: who waits and who is inside. Run with --set trace=events for more."
        ]
    return []


def _field_names(scenario: Scenario) -> dict[str, list[str]]:
    kinds = scenario.algorithm.agent.messages
    return {kind.__name__: [field.name for field in fields(kind)] for kind in kinds}  # type: ignore[arg-type]
