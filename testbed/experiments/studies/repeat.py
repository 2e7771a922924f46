"""How often a point is run: a number of times, or until the interval of a metric is narrow enough."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis import stats
from analysis.metric_names import METRICS
from analysis.results import mean_of
from testbed.errors import ScenarioError
from testbed.input_errors import nearest, shown
from testbed.scenario.yaml_reader import Document

KEYS = ("until", "at_least", "at_most")
MAX = 10_000
_PERCENT = re.compile(r"^\s*([0-9.]+)\s*%\s*$")


@dataclass(frozen=True)
class Repeat:
    """Between `at_least` and `at_most` times; in between, until the 95 % interval of every metric is narrow enough.

    Repetitions are added in batches, each half as large as what there is. The interval is looked at between batches
    only, so how many there are depends on results alone, and not on how many run at a time.
    """

    at_least: int
    at_most: int
    until: tuple[tuple[str, float], ...] = ()
    """Metrics, and half the width that the interval of each may have, as a share of the mean."""

    @classmethod
    def fixed(cls, number: int) -> Repeat:
        """So many times."""
        return cls(number, number)

    def wanted(self, outcomes: Sequence[dict[str, Any]], done: int) -> int:
        """How many repetitions are wanted after so many are done, of which these have an outcome."""
        wanted = self.at_least
        while wanted < self.at_most and wanted <= done:
            if self._is_enough([one for one in outcomes if one["repetition"] < wanted]):
                break
            wanted = min(self.at_most, wanted + max(1, wanted // 2))
        return wanted

    def _is_enough(self, outcomes: Sequence[dict[str, Any]]) -> bool:
        for metric, share in self.until:
            values = [value for one in outcomes if (value := mean_of(one["metrics"], metric)) is not None]
            mean, half = stats.mean(values), stats.ci95(values)
            if mean is None or half is None or half > share * abs(mean):
                return False
        return True

    @classmethod
    def read(cls, document: Document, value: Any) -> Repeat:
        """The value of `repeat` in a study."""

        def wrong(key: str, found: str, allowed: str, meant: str | None = None) -> ScenarioError:
            path = ("repeat", *key.split(".")) if key else ("repeat",)
            line = document.lines.get(path, document.lines.get(("repeat",)))
            return ScenarioError(document.file, line, ".".join(path), found, allowed, meant)

        if _is_count(value):
            return cls.fixed(value)
        if not isinstance(value, dict):
            allowed = f"1 to {MAX}, or {{until: {{waiting_time: 5 %}}, at_least: 5, at_most: 100}}"
            raise wrong("", shown(value), allowed)
        for key in value:
            if key not in KEYS:
                raise wrong(key, "unknown key", f"one of {', '.join(KEYS)}", nearest(key, list(KEYS)))
        for key in ("at_least", "at_most"):
            if key in value and not _is_count(value[key]):
                raise wrong(key, shown(value[key]), f"1 to {MAX}")
        least = value.get("at_least", 5)
        most = value.get("at_most", max(least, 100))
        if least > most:
            raise wrong("at_most", str(most), f"at_least, {least}, or more")
        until = value.get("until")
        if not isinstance(until, dict) or not until:
            found = "nothing" if until is None else shown(until)
            raise wrong("until", found, "a metric and a share: {waiting_time: 5 %}")
        for metric, share in until.items():
            if metric not in METRICS or not METRICS[metric].columns:
                known = [name for name, one in METRICS.items() if one.columns]
                raise wrong(f"until.{metric}", "unknown metric", f"one of {', '.join(known)}", nearest(metric, known))
            if _share(share) is None:
                raise wrong(f"until.{metric}", shown(share), "a share of the mean, such as 5 %")
        shares = tuple((metric, _share(share) or 0.0) for metric, share in until.items())
        return cls(max(2, least), max(2, most), shares)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX


def _share(value: Any) -> float | None:
    found = _PERCENT.match(value) if isinstance(value, str) else None
    try:
        share = float(found[1]) / 100 if found else None
    except ValueError:
        return None
    return share if share is not None and 0 < share <= 1 else None
