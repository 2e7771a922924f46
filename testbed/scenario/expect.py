"""What a scenario expects of its run: the verdicts of checks, and bounds on metrics."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from analysis.checks import CHECKS
from analysis.metric_names import METRICS
from testbed.input_errors import found_instead, unknown_key
from testbed.section import Section, refuse_unknown


class Bound(Section):
    """Limits on a metric; both ends are allowed values."""

    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _leaves_room(self) -> Bound:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise found_instead(f"min {self.min:g} and max {self.max:g}", "min no greater than max")
        return self


def _known_metrics(value: Any) -> Any:
    """A mapping metric -> column -> bound, with the metrics and columns there are."""
    if isinstance(value, dict):
        columns = {name: list(metric.columns) for name, metric in METRICS.items() if metric.columns}
        refuse_unknown(value, list(columns))
        for name, bounds in value.items():
            if isinstance(bounds, dict):
                for column in bounds:
                    if column not in columns[name]:
                        raise unknown_key(columns[name], name, column)
    return value


def _known_checks(value: Any) -> Any:
    if isinstance(value, dict):
        refuse_unknown(value, [check.name for check in CHECKS])
    return value


ExpectedVerdict = Literal["ok", "failed", "inconclusive", "not checked", "not applicable"]


class Expect(Section):
    """What must hold for the run to pass. A check that is not named must not fail."""

    checks: Annotated[dict[str, ExpectedVerdict], BeforeValidator(_known_checks)] = Field({})
    metrics: Annotated[dict[str, dict[str, Bound]], BeforeValidator(_known_metrics)] = Field({})
