"""Where nodes and places are, for the map: waypoints in millimetres and microseconds of the run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from testbed.look.view.columns import column
from testbed.mobility.traces import read
from testbed.scenario.schema import Scenario


def ground(scenario: Scenario, folder: Path) -> dict[str, Any]:
    """What the map is drawn on; without positions, `paths` is None."""
    file = folder / "positions.csv"
    paths = None
    if file.is_file():
        trajectories = read(file).trajectories[: scenario.nodes]
        paths = [
            {
                "t": column(round(point.t * 1e6) for point in path.waypoints),
                "x": column(round(point.x * 1e3) for point in path.waypoints),
                "y": column(round(point.y * 1e3) for point in path.waypoints),
                "appears": _microseconds(path.appears),
                "leaves": _microseconds(path.leaves),
            }
            for path in trajectories
        ]
    area = scenario.area
    return {
        "paths": paths,
        "area": None if area is None else [area.width, area.height],
        "range": None if paths is None or scenario.radio is None else round(scenario.radio.reach_m(), 3),
        "places": [
            {"x": place.centre[0], "y": place.centre[1], "range": place.range} for place in scenario.neighbourhoods
        ],
        "secondsPerUnit": scenario.time_unit,
    }


def _microseconds(t: float) -> int | None:
    return round(t * 1e6) if math.isfinite(t) else None
