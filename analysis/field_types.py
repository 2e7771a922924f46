"""What the fields of events may hold: their types and ranges, one table for all kinds.

Most types are those that the methods of `Listener` declare. Here is what such a declaration cannot say: which whole
numbers are nodes or neighbourhoods, which may be negative, and which texts there are.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from analysis.events import KINDS, LEVELS, Start
from analysis.listener import Listener, method_name

NEEDS = ("links", "any node", "groups")
SHARES = ("tokens", "permissions")
FAULTS = ("crash", "restart", "cut", "heal", "lose", "vanish")

MANY = 1 << 62
"""More nodes than any log has: where it is not known how many there are."""
MAX_SHOWN = 60
"""Characters of a value in an error line."""


class Implausible(Exception):
    """No run writes this event, whatever its algorithm does. The text is the reason."""


class FieldType(NamedTuple):
    """What a field may hold."""

    fits: Callable[[Any], bool]
    words: str


def shown(value: Any) -> str:
    """A value in an error line, cut short if it is long."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


# -- types without a context ------------------------------------------------------------------------------------------
# `type(x) is int` and not isinstance: a bool is an int for Python, and never a number in a log.

WHOLE = FieldType(lambda value: type(value) is int, "a whole number")
COUNT = FieldType(lambda value: type(value) is int and value >= 0, "a whole number of at least 0")
POSITIVE = FieldType(lambda value: type(value) is int and value >= 1, "a whole number of at least 1")
NUMBER = FieldType(lambda value: type(value) in (int, float) and math.isfinite(value), "a number")
TEXT = FieldType(lambda value: type(value) is str, "text")
FLAG = FieldType(lambda value: type(value) is bool, "true or false")
NOTHING = FieldType(lambda value: value is None, "null")
ANYTHING = FieldType(lambda value: True, "anything")
MESSAGE_FIELDS = FieldType(lambda value: type(value) is list, "the list of a message's fields")
DETAIL = FieldType(lambda value: type(value) is dict, "an object")


def either(one: FieldType, other: FieldType) -> FieldType:
    """One of two types."""
    return FieldType(lambda value: one.fits(value) or other.fits(value), f"{one.words}, or {other.words}")


def list_of(item: FieldType, *, distinct: bool = False) -> FieldType:
    """A list of any length."""

    def fits(value: Any) -> bool:
        return type(value) is list and all(map(item.fits, value)) and not (distinct and len(set(value)) < len(value))

    return FieldType(fits, f"a list, each item {item.words}" + (" and there once" if distinct else ""))


def tuple_of(*items: FieldType) -> FieldType:
    """A list with an item of each type."""

    def fits(value: Any) -> bool:
        return (
            type(value) is list
            and len(value) == len(items)
            and all(one.fits(x) for one, x in zip(items, value, strict=True))
        )

    return FieldType(fits, f"a list of {len(items)}: " + ", then ".join(item.words for item in items))


def one_of(*texts: str) -> FieldType:
    """One of some texts."""
    return FieldType(lambda value: type(value) is str and value in texts, f"one of {', '.join(texts)}")


def late_by(*more: str) -> FieldType:
    """How late something was, in milliseconds: a distribution, with these counts beside it."""
    ascending = ("p50", "p95", "p99", "max")
    names = {"mean", *ascending, *more}

    def fits(value: Any) -> bool:
        if not (type(value) is dict and names <= value.keys() and all(map(NUMBER.fits, value.values()))):
            return False
        values = [value[name] for name in ascending]
        return values == sorted(values) and all(COUNT.fits(value[name]) for name in more)

    return FieldType(fits, f"the numbers {', '.join(('mean', *ascending, *more))}")


LETTER = either(NOTHING, tuple_of(TEXT, MESSAGE_FIELDS))
"""A token that lies at a place: the type and the fields of its message."""


def declared(hint: Any) -> FieldType:
    """The type that a declaration asks for. Whole numbers are counts, unless the table below knows better."""
    simple = {int: COUNT, float: NUMBER, str: TEXT, bool: FLAG, type(None): NOTHING}
    if hint in simple:
        return simple[hint]
    arguments = get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        first, *others = map(declared, arguments)
        for other in others:
            first = either(first, other)
        return first
    return list_of(declared(arguments[0])) if len(arguments) == 1 else ANYTHING


# -- events ------------------------------------------------------------------------------------------------------------


class EventTypes:
    """The types of all fields of all kinds, in a run of so many nodes and neighbourhoods."""

    def __init__(self, nodes: int = MANY, groups: int = MANY) -> None:
        self._node = _below(nodes, "a node")
        self._station = _below(nodes + groups, "a node, or after them the station of a place")
        self._group = _below(groups, "a neighbourhood")
        self._special = self._special_types()
        self._node_of = {kind: self._type_of_node(kind) for kind in KINDS}
        self._of = {kind: [self.of(kind, name) for name in names] for kind, (_, names) in KINDS.items()}
        self._tests = {kind: [one.fits for one in found] for kind, found in self._of.items()}

    def _special_types(self) -> dict[str, FieldType]:
        """The types that declarations do not say, by "kind.field" or, for all kinds that have it, by "field"."""
        node, nodes, lateness = self._node, list_of(self._node, distinct=True), late_by()
        return {
            "peer": node,
            "source": node,
            "target": node,
            "group": self._group,
            "fault": one_of(*FAULTS),
            "detail": DETAIL,
            "peers": nodes,
            "cut_off": nodes,
            "members": list_of(tuple_of(node, COUNT)),
            "medium_ms": either(NOTHING, lateness),
            "station_ms": either(NOTHING, late_by("station")),
            "send.fields": MESSAGE_FIELDS,
            "broadcast.fields": MESSAGE_FIELDS,
            "fields": LETTER,
            "request.units": POSITIVE,
            "enter.units": POSITIVE,
            "exit.units": POSITIVE,
            "priority": WHOLE,
            "start.trace": one_of(*LEVELS),
            "start.needs": one_of(*NEEDS),
            "start.shares": one_of(*SHARES),
            # By what an algorithm says and sends these may be negative: the checks judge that.
            "crash.units": WHOLE,
            "crash.tokens": WHOLE,
            "miscount.units": WHOLE,
            "miscount.tokens": WHOLE,
            "regenerate.units": WHOLE,
            "regenerate.tokens": WHOLE,
            "component_units": WHOLE,
            "component_tokens": WHOLE,
            "free.free": WHOLE,
            "free.units": WHOLE,
            "spares": WHOLE,
        }

    def _type_of_node(self, kind: str) -> FieldType:
        """What the `node` of an event may be."""
        if kind == "relay":  # stations of places pass on messages too
            return self._station
        hint = _hints(kind)["node"]
        return self._node if hint is int else NOTHING if hint is type(None) else either(self._node, NOTHING)

    def of(self, kind: str, name: str) -> FieldType:
        """What a field may hold."""
        special = self._special.get(f"{kind}.{name}") or self._special.get(name)
        return special or declared(_hints(kind)[name])

    def values(self, event: dict[str, Any]) -> list[Any]:
        """The fields of an event of a known kind, in the order of `KINDS`; `Implausible` if they are not its fields."""
        kind, t, node = event["kind"], event["t"], event.get("node")
        if type(t) is not int or t < 0:
            raise _misfit("t", t, COUNT)
        if not self._node_of[kind].fits(node):
            raise _misfit("node", node, self._node_of[kind])
        try:
            values = [event[name] for name in KINDS[kind][1]]
        except KeyError as missing:
            raise Implausible(f"it has no {missing.args[0]}") from None
        for fits, value in zip(self._tests[kind], values, strict=True):
            if not fits(value):
                raise self._first_misfit(kind, values)
        return values

    def _first_misfit(self, kind: str, values: list[Any]) -> Implausible:
        found = zip(KINDS[kind][1], values, self._of[kind], strict=True)
        return next(_misfit(name, value, of) for name, value, of in found if not of.fits(value))


def _misfit(name: str, value: Any, of: FieldType) -> Implausible:
    return Implausible(f"{name} is {shown(value)}; allowed: {of.words}")


@cache
def _hints(kind: str) -> dict[str, Any]:
    """The declarations of the fields of a kind, and of its `node`."""
    hints = get_type_hints(getattr(Listener, method_name(kind)))
    return hints | get_type_hints(Start) if kind == "start" else hints


def _below(limit: int, what: str) -> FieldType:
    """The number of one of so many things."""
    numbers = {0: "of which there is none", MANY: "by its number"}.get(limit, f"from 0 to {limit - 1}")
    return FieldType(lambda value: type(value) is int and 0 <= value < limit, f"{what}, {numbers}")
