"""Every placement and mobility model by the name a scenario uses. A new one is a class and two lines here."""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator

from testbed.mobility.community import Community
from testbed.mobility.gauss_markov import GaussMarkov
from testbed.mobility.group import Group
from testbed.mobility.levy_walk import LevyWalk
from testbed.mobility.manhattan import Manhattan
from testbed.mobility.model import MobilityModel
from testbed.mobility.placement import (
    ClusterPlacement,
    ExplicitPlacement,
    GridPlacement,
    LinePlacement,
    RingPlacement,
    UniformPlacement,
)
from testbed.mobility.random_direction import RandomDirection
from testbed.mobility.random_walk import RandomWalk
from testbed.mobility.random_waypoint import RandomWaypoint
from testbed.mobility.replay import TraceReplay
from testbed.mobility.static import Static
from testbed.section import KindAlone, Section

MODELS: dict[str, type[MobilityModel]] = {
    "static": Static,
    "random-waypoint": RandomWaypoint,
    "random-walk": RandomWalk,
    "random-direction": RandomDirection,
    "gauss-markov": GaussMarkov,
    "group": Group,
    "manhattan": Manhattan,
    "levy-walk": LevyWalk,
    "community": Community,
    "trace": TraceReplay,
}
"""The first line of each docstring says what its nodes do."""

PLACEMENTS: dict[str, type[Section]] = {
    "grid": GridPlacement,
    "uniform": UniformPlacement,
    "explicit": ExplicitPlacement,
    "cluster": ClusterPlacement,
    "line": LinePlacement,
    "ring": RingPlacement,
}
"""The first line of each docstring says where its nodes are."""


Mobility = Annotated[
    Annotated[
        Static
        | RandomWaypoint
        | RandomWalk
        | RandomDirection
        | GaussMarkov
        | Group
        | Manhattan
        | LevyWalk
        | Community
        | TraceReplay,
        Discriminator("kind"),
    ],
    KindAlone,
]
"""The mobility of a scenario: a mapping with a kind, or the kind alone."""

Placement = Annotated[
    Annotated[
        GridPlacement | UniformPlacement | ExplicitPlacement | ClusterPlacement | LinePlacement | RingPlacement,
        Discriminator("kind"),
    ],
    KindAlone,
]
"""The placement of a scenario: a mapping with a kind, or the kind alone."""
