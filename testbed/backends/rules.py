"""Which keys of a scenario a backend refuses, by what it declares of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.contract import Needs
from testbed.backends.base import MAX_TIME_UNIT, MIN_TIME_UNIT, Backend, Refusal
from testbed.backends.registry import BACKENDS, find_backend

if TYPE_CHECKING:
    from testbed.scenario.schema import Scenario


def first_refusal(backend: Backend, scenario: Scenario) -> Refusal | None:
    """The first key that the backend cannot serve."""
    if scenario.routing != "builtin" and scenario.algorithm.agent.needs is Needs.LINKS:
        allowed = f"builtin: {scenario.algorithm.name} speaks with neighbours only, and needs no routes"
        return Refusal("routing", scenario.routing, allowed)
    if scenario.routing not in backend.routings:
        allowed = f"{' or '.join(backend.routings)} with backend {backend.name}: {_only('routings', scenario.routing)}"
        return Refusal("routing", scenario.routing, allowed)
    if scenario.radio is not None and scenario.radio.rate_control not in backend.rate_controls:
        control = scenario.radio.rate_control
        allowed = f"{' or '.join(backend.rate_controls)} with backend {backend.name}: {_only('rate_controls', control)}"
        return Refusal("radio.rate_control", control, allowed)
    if scenario.medium not in backend.media:
        able = " and ".join(name for name in BACKENDS if scenario.medium in find_backend(name).media)
        return Refusal("medium", scenario.medium, f"ours with backend {backend.name}: only {able} has another")
    if scenario.links.kind == "ideal" and not backend.has_ideal_links:
        return Refusal("links", "ideal", f"radio: {backend.name} is no place for ideal links")
    if backend.real_time and not MIN_TIME_UNIT <= scenario.time_unit <= MAX_TIME_UNIT:
        allowed = f"{MIN_TIME_UNIT:g} to {MAX_TIME_UNIT:g} seconds, with backend {backend.name}: its time is real"
        return Refusal("time_unit", f"{scenario.time_unit:g}", allowed)
    return None


def _only(declaration: str, value: str) -> str:
    """Which backends declare a value."""
    able = [name for name in BACKENDS if value in getattr(find_backend(name), declaration)]
    return f"only {' and '.join(able)} {'has' if len(able) == 1 else 'have'} {value}"
