"""Every algorithm the testbed knows, by the name a scenario uses. A new one is one file and one line here.

A class is imported when it is first asked for, so a file that cannot be imported concerns only its own algorithm.
Other distributions add algorithms by entry points (`agents.entry_points`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from operator import attrgetter

from agents import entry_points
from agents.contract import Agent

OWN: dict[str, str] = {
    "rl": "agents.rl:ReverseLink",
    "raymond-tree": "agents.raymond_tree:RaymondTree",
    "krl": "agents.krl:KReverseLink",
    "krlf": "agents.krlf:KReverseLinkForwarding",
    "krlf-adaptive": "agents.krlf_adaptive:KReverseLinkAdaptive",
    "ricart-agrawala": "agents.ricart_agrawala:RicartAgrawala",
    "suzuki-kasami": "agents.suzuki_kasami:SuzukiKasami",
    "naimi-trehel": "agents.naimi_trehel:NaimiTrehel",
    "maekawa": "agents.maekawa:Maekawa",
    "bv": "agents.bv:BV",
    "raymond-k": "agents.raymond_k:RaymondK",
    "srimani-reddy": "agents.srimani_reddy:SrimaniReddy",
    "makki": "agents.makki:Makki",
    "hk": "agents.hk:PrioritizedHOutOfK",
    "hk-fifo": "agents.hk_fifo:HOutOfK",
    "klme": "agents.klme:KLME",
}
"""The algorithms of this project: the module and the class of each."""


class CannotImport(Exception):
    """The class of an algorithm cannot be imported; the exception that it was raised from says why."""


class Registry(MutableMapping[str, type[Agent]]):
    """Algorithms by their names; the class of each is imported when it is asked for.

    First come those of this project and those that were set, then those that are installed as entry points.
    """

    def __init__(self, own: Mapping[str, str]) -> None:
        self._own: dict[str, str | type[Agent]] = {**own}

    def __getitem__(self, name: str) -> type[Agent]:
        if name not in self._own:
            return _imported(entry_points.usable(self._own)[name].place)
        known = self._own[name]
        if isinstance(known, str):
            self._own[name] = known = _imported(known)
        return known

    def __setitem__(self, name: str, agent: type[Agent]) -> None:
        self._own[name] = agent

    def __delitem__(self, name: str) -> None:
        del self._own[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in entry_points.usable(self._own)

    def __iter__(self) -> Iterator[str]:
        return iter([*self._own, *entry_points.usable(self._own)])

    def __len__(self) -> int:
        return len(self._own) + len(entry_points.usable(self._own))

    def installed(self, name: str) -> entry_points.Installed | None:
        """The entry point of an algorithm of another distribution; None for an algorithm of this project."""
        return None if name in self._own else entry_points.usable(self._own).get(name)

    def refused(self) -> list[str]:
        """A line for every entry point that is not used, because its name is taken."""
        return entry_points.refused(self._own)


def _imported(place: str) -> type[Agent]:
    """The class at `module:class`."""
    module, _, name = place.partition(":")
    try:
        found: type[Agent] = attrgetter(name)(import_module(module))
    except (Exception, SystemExit) as error:  # whatever the module does while it is imported
        raise CannotImport(place) from error
    return found


ALGORITHMS = Registry(OWN)
