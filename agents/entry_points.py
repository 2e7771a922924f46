"""Algorithms of other distributions, which declare them as entry points of the group `testbed.algorithms`.

In the pyproject.toml of such a distribution:

    [project.entry-points."testbed.algorithms"]
    mine = "package.module:Class"
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

GROUP = "testbed.algorithms"


@dataclass(frozen=True)
class Installed:
    """An entry point: the name of the algorithm, its class as `module:class`, and what it comes from."""

    name: str
    place: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


def usable(taken: Collection[str]) -> dict[str, Installed]:
    """The entry points by name, without those whose name is taken: by this project, or by two distributions."""
    named = _by_name(tuple(sys.path))
    return {name: found[0] for name, found in named.items() if len(found) == 1 and name not in taken}


def refused(taken: Collection[str]) -> list[str]:
    """A line for every entry point that is not usable."""
    lines = []
    for name, found in _by_name(tuple(sys.path)).items():
        for one in found if name in taken or len(found) > 1 else ():
            others = [str(other) for other in found if other is not one]
            by = "the testbed itself" if name in taken else " and ".join(others)
            lines.append(f"{name} of {one} ({one.place}) is not used: the name is taken by {by}")
    return lines


@cache
def _by_name(path: tuple[str, ...]) -> dict[str, list[Installed]]:
    """All entry points on a path, sorted by name. A search takes long, so it is done once for each `sys.path`."""
    from importlib.metadata import entry_points  # only here: most commands do not need it, and it imports a lot

    named: dict[str, list[Installed]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        place = "".join(point.value.partition("[")[0].split())  # without extras
        source = (point.dist.name, point.dist.version) if point.dist is not None else ("?", "?")
        one = Installed(point.name, place, *source)
        if one not in named.setdefault(one.name, []):
            named[one.name].append(one)
    return named
