"""The members of the zoo: which check must catch each wrong algorithm, and with which words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.zoo import breaches, faults, neighbourhoods, permissions, tokens, units

ALL_WORLDS = ("sim ideal", "sim radio", "loopback")
OVER_RADIO = ("sim radio", "loopback")
KINDS = (tokens, units, permissions, faults, neighbourhoods, breaches)
FILES = {name: Path(str(kind.__file__)) for kind in KINDS for name in kind.ALGORITHMS}


@dataclass(frozen=True)
class Member:
    """An algorithm in a scenario, and what must come of it."""

    name: str
    check: str | None
    """The check that must fail; None for a correct algorithm, which passes all."""
    words: str = ""
    """What its verdict must contain, in its detail or in its offenders."""
    keys: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the scenario besides those that all members have; times are counted from the first request."""
    worlds: tuple[str, ...] = ALL_WORLDS
    algorithm: str = ""
    """By default that of the member's name."""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "algorithm", self.algorithm or self.name)

    @property
    def file(self) -> Path:
        """Where its class is."""
        return FILES[self.algorithm]

    def __str__(self) -> str:
        return self.name


def correct(name: str, **more: Any) -> Member:
    """An algorithm that must pass."""
    return Member(name, None, **more)


def unsafe(name: str, words: str = "enters with", **more: Any) -> Member:
    """One that lets too many in."""
    return Member(name, "safety", words, **more)


def leaking(name: str, words: str, **more: Any) -> Member:
    """One that makes or loses units."""
    return Member(name, "conservation", words, **more)


def starving(name: str, words: str = "still waits", **more: Any) -> Member:
    """One that does not serve a request."""
    return Member(name, "starvation", words, **more)


def stuck(name: str, words: str = "no node has entered", **more: Any) -> Member:
    """One in which no node enters any more."""
    return Member(name, "progress", words, **more)


def breaking(name: str, words: str, **more: Any) -> Member:
    """One that breaks the contract."""
    return Member(name, "contract", words, **more)


BUSY = {"workload": {"rate": 4.0}}
ALL_AT_ONCE: dict[str, Any] = {
    "delays": {"hop": 0.5},
    "workload": {"rate": 0, "requests": [{"node": node, "at": at} for at in (1, 4, 7, 10) for node in range(6)]},
}
"""All nodes ask before any of them can have heard of another's request."""
DEMANDS = {"workload": {"rate": 0.3, "units": {"uniform": [1, 3]}}}
ONE_LARGE = {"workload": {"rate": [20] * 5 + [0], "requests": [{"node": 5, "at": 1, "units": 3}]}}
"""One node asks for all units, and the others always want one each."""
CHANGING = {
    "topology": {"kind": "random", "connectivity": 0.6, "link_change_rate": 10.0, "max_lag": 0.01},
    "delays": {"hop": 0.2},
}


def crash_of(*nodes: int, rate: Any = 1.5) -> dict[str, Any]:
    """These nodes crash one after the other and come back soon; they have much to do after it."""
    crashes = [{"kind": "crash", "node": node, "at": 7 + 3 * place} for place, node in enumerate(nodes)]
    restarts = [{**crash, "kind": "restart", "at": crash["at"] + 1} for crash in crashes]
    return {"faults": [*crashes, *restarts], "workload": {"rate": rate}}


AFTER_CRASH: dict[str, Any] = {
    "faults": crash_of(3)["faults"],
    "workload": {"rate": [0, 4, 4, 0, 4, 4], "cs_time": 1, "requests": [{"node": 3, "at": 9, "cs_time": 3}]},
}
"""Node 3 asks for the first time when it has come back; there is always another node inside."""
COORDINATOR_CRASH = {
    "faults": crash_of(0)["faults"],
    "workload": {"rate": 0, "requests": [{"node": 3, "at": 6, "cs_time": 25}, {"node": 4, "at": 18}]},
}
"""Node 0 comes back while node 3 is inside."""
CRASH_INSIDE = {
    "faults": crash_of(3)["faults"],
    "workload": {
        "rate": 0,
        "requests": [{"node": 3, "at": 6, "cs_time": 3}, {"node": 3, "at": 9}, {"node": 4, "at": 9}],
    },
}
"""Node 3 is inside when it crashes, and asks again."""
CRASH_5 = {"faults": [{"kind": "crash", "node": 5, "at": 7}]}
EARLY_CRASH = {"faults": [{"kind": "crash", "node": 5, "at": 0.5}], "workload": {"rate": 0.2}}
"""Early enough for other nodes to enter without the one that has crashed."""
LATE_CRASH = {"faults": [{"kind": "crash", "node": 5, "at": 17}]}
LATE_CUT = {"faults": [{"kind": "cut", "group": [5], "at": 17}]}
PLACES = {
    "nodes": 8,
    "time_unit": 0.05,
    "topology": "geometric",
    "area": [200, 60],
    "mobility": {"kind": "random-waypoint", "speed": [120, 240]},
    "radio": {"range": 110},
    "neighbourhoods": [{"centre": [70, 30], "range": 70, "k": 2}],
    "notice": 2,
}

CORRECT = (
    correct("lent-token"),
    correct("walking-token"),
    correct(
        "walking-token-on-changing-links",
        algorithm="walking-token",
        keys={**CHANGING, "patience": 40},
        worlds=("sim ideal",),
    ),
    correct("lent-units", keys=DEMANDS),
    correct("unit-ring", keys=DEMANDS),
    correct("coordinator"),
    correct("textbook"),
    correct("quorums"),
    correct("survivor"),
    correct("survivor-of-a-crash", algorithm="survivor", keys=crash_of(3)),
    correct("lender"),
    correct("places", keys=PLACES),
)

TOKENS = (
    unsafe("barges-in"),
    unsafe("stale-grant"),
    unsafe("enters-twice", "enters without a request"),
    unsafe("enters-again", "enters without a request"),
    unsafe("enters-unasked", "enters without a request"),
    leaking("loses-on-receive", "node 3 loses 1 unit in on_receive"),
    leaking("loses-on-release", "node 3 loses 1 unit in on_release"),
    leaking("loses-on-timer", "node 3 loses 1 unit in on_timer(forget)"),
    leaking("keeps-and-sends", "node 0 makes 1 unit"),
    leaking("sends-two", "node 3 sends 1 unit to 0 and holds 0 units"),
    leaking("doubles-quietly", "node 0 sends 1 unit"),
    leaking("loses-returned", "loses 1 unit in on_return", keys=CHANGING, worlds=("sim ideal",)),
    leaking(
        "loses-on-link-down",
        "loses 1 unit in on_link_down",
        keys=crash_of(5, 4, rate=[0.15] * 4 + [0] * 2),
        worlds=("sim ideal",),
    ),
    leaking("loses-on-link-up", "node 0 loses 1 unit in on_link_up", worlds=OVER_RADIO),
    leaking("claims-nothing", "0 units at the start, not 1"),
    leaking("hides-in-use", "loses 1 unit"),
    leaking("claims-waiting", "makes 1 unit"),
    leaking("claims-two-tokens", "1 token"),
    breaking("sends-nowhere", "send(77, Token()): node 77 does not exist"),
    breaking("sends-to-itself", "send(3, Token()): a node does not send to itself"),
    breaking("sends-to-stranger", "is no neighbour", keys={"topology": {"kind": "random", "connectivity": 0.4}}),
    starving("hoards"),
    stuck("never-releases"),
    stuck("bounces"),
    stuck("never-asks"),
    starving("lowest-first", "longer than the patience", keys=BUSY),
    starving("never-serves-one", "node 5 still waits"),
    starving("starves-one-that-is-cut-off", "node 5 had waited", algorithm="forgets-node-5", keys=LATE_CUT),
    starving("starves-one-that-crashes", "node 5 had waited", algorithm="forgets-node-5", keys=LATE_CRASH),
    starving("loses-wake-up"),
    starving("forgets-asks"),
    stuck("chatters-for-ever"),
    breaking(
        "chatters-in-no-time",
        "virtual time has stood still",
        algorithm="chatters-undeclared",
        keys={"delays": {"hop": 0}, "handler_limit": 0.02},
        worlds=("sim ideal",),
    ),
    stuck("walks-in-circles"),
    stuck("floods-for-ever"),
)

UNITS = (
    leaking("one-too-many", "node 0 sends", keys=DEMANDS),
    unsafe("takes-more", "units of 3 in use", keys=DEMANDS),
    leaking("keeps-one-back", "loses 1 unit in on_release", keys=DEMANDS),
    leaking("tips-one", "to 0 and holds", keys=DEMANDS),
    breaking("sends-more-than-held", "node 3", keys=DEMANDS),
    starving("small-first", "longer than the patience", keys=ONE_LARGE),
    starving("never-serves-large", "still waits", keys=DEMANDS),
    leaking("smuggles", "units in on_receive", keys=DEMANDS),
    leaking("two-tokens-right-units", "node 3 makes 0 units and 1 token in on_timer(pass)", keys=DEMANDS),
    leaking("more-units-one-token", "node 3 makes 1 unit and 0 tokens in on_timer(pass)", keys=DEMANDS),
    leaking("fewer-units-one-token", "node 3 loses 1 unit and 0 tokens in on_timer(pass)", keys=DEMANDS),
    leaking("counts-twice", "makes", keys=DEMANDS),
)

PERMISSIONS = (
    breaking("shares-memory", "nodes share no memory", worlds=("sim ideal", "sim radio")),
    unsafe("shares-memory-apart", algorithm="shares-memory", worlds=("loopback",)),
    unsafe("permits-two"),
    unsafe("permits-one-too-many", "4 units of 3 in use", keys=BUSY, parameters={"k": 3}),
    unsafe("forges-grant", keys=BUSY),
    unsafe("gives-back-twice"),
    unsafe("never-defers", keys=BUSY),
    unsafe("enters-early"),
    unsafe("oldest-last", keys=BUSY),
    unsafe("forges-replies"),
    unsafe("grants-twice"),
    unsafe("small-quorums"),
    starving("permission-loses-wake-up"),
    starving("blames-the-crashed", keys=EARLY_CRASH),
    starving("blames-the-living", algorithm="blames-the-crashed"),
    breaking("spares-less-than-none", "it spares -1 nodes"),
    breaking("spares-text", "it spares many nodes"),
    breaking("token-as-permission", "it carries units, and the algorithm declares that it shares permissions"),
    breaking("holds-permissions", "holds 1 unit, and the algorithm declares that it shares permissions"),
    stuck("defers-always", keys=BUSY),
    stuck("defers-always-on-links", keys=BUSY),
    stuck("defers-always-no-bound", keys=BUSY),
    leaking("defers-always-as-tokens", "0 units at the start, not 1", keys=BUSY),
    stuck("deadlock-before-a-crash", algorithm="defers-always", keys={**BUSY, **LATE_CRASH}),
    stuck("deadlock-before-a-cut", algorithm="defers-always", keys={**BUSY, **LATE_CUT}),
    stuck("deadlock-on-links-before-a-cut", algorithm="defers-always-on-links", keys={**BUSY, **LATE_CUT}),
    stuck("deadlock-without-bound", algorithm="defers-always-no-bound", keys={**BUSY, **LATE_CUT}),
    stuck("forgets-deferred"),
    stuck("never-inquires", keys=ALL_AT_ONCE),
)

FAULTS = (
    unsafe("enters-after-restart", keys=AFTER_CRASH),
    unsafe("gives-back-anothers", keys=AFTER_CRASH),
    unsafe("coordinator-forgets", algorithm="survivor", keys=COORDINATOR_CRASH),
    starving("ignores-the-restarted", keys=CRASH_INSIDE),
    starving("deaf-after-restart", keys=AFTER_CRASH),
    breaking(
        "raises-after-restart",
        "node 3 in on_request(Demand(units=1, priority=0, deadline=None)): KeyError: 3",
        keys=AFTER_CRASH,
    ),
    leaking("token-again", "node 0 makes 1 unit in restart", keys=crash_of(0)),
    leaking("token-for-everyone", "node 3 makes 1 unit in restart", keys=crash_of(3)),
    leaking("loses-after-crash", "node 3 loses 1 unit in on_release", keys=CRASH_5),
    breaking("blank-raises", "KeyError: 3", keys=crash_of(3)),
)

NEIGHBOURHOODS = (
    unsafe("one-too-many-here", "neighbourhood", keys=PLACES),
    unsafe("enters-on-arrival", "units of 2 in use", keys=PLACES),
    unsafe("token-of-more", "of them free", keys=PLACES),
    leaking("takes-token-along", "ready to leave, has", keys=PLACES, worlds=("sim ideal", "sim radio")),
    leaking("makes-tokens", "that was made anew", keys=PLACES),
    starving("hoards-here", keys=PLACES),
    starving("drops-grants", keys=PLACES),
)

BREACHES = (
    *(breaking(name, "a delay is a whole number of ticks") for name in breaches.OUTPUTS if name.startswith("timer-of")),
    breaking("timer-into-the-past", "set_timer(t, -1): a delay is a whole number of ticks"),
    breaking("timer-beyond-time", "a delay is a whole number of ticks"),
    breaking("timer-without-name", "set_timer(7, 1000000000): the name of a timer is text"),
    breaking("timer-named-by-a-list", "the name of a timer is text"),
    breaking("cancels-a-number", "cancel_timer(7): the name of a timer is text"),
    breaking("sends-to-text", "0 is no node"),
    breaking("sends-to-minus-one", "node -1 does not exist"),
    breaking("sends-to-a-fraction", "1.0 is no node"),
    breaking("sends-to-true", "True is no node"),
    breaking("sends-to-none", "None is no node"),
    breaking("sends-to-number-77", "node 77 does not exist"),
    breaking("sends-to-its-own-number", "a node does not send to itself"),
    breaking("sends-to-a-number-of-all", "the peers are not a tuple of nodes"),
    breaking("sends-undeclared", "Secret is not declared in the algorithm's `messages`"),
    breaking("sends-no-message", "str is no Message"),
    breaking("sends-none", "NoneType is no Message"),
    breaking("sends-a-class", "type is no Message"),
    breaking("field-of-a-list", "the field number is [1], not a whole number"),
    breaking("field-of-text", "the field number is first, not a whole number"),
    breaking("field-of-a-fraction", "the field number is 1.5, not a whole number"),
    breaking("field-of-nothing", "the field number is None, not a whole number"),
    breaking("field-beyond-the-wire", "the field number does not fit in 128 bits"),
    breaking("message-of-fewer-than-none", "it carries -1 units"),
    breaking("message-of-half-a-unit", "the field amount is 0.5"),
    breaking("message-of-words", "it carries one units"),
    breaking("outbox-of-none", "None: an outbox entry of no known form"),
    breaking("outbox-of-two", "an outbox entry of no known form"),
    breaking("outbox-of-an-unknown", "an outbox entry of no known form"),
    breaking("outbox-of-numbers", "an outbox entry of no known form"),
    breaking("outbox-is-none", "its outbox is None, not a list"),
    breaking("outbox-is-a-tuple", "not a list"),
    breaking("enters-in-words", "enter: an outbox entry of no known form"),
    breaking("asks-to-leave", "ready_to_leave: that needs neighbourhoods"),
    breaking("units-of-text", "it says that it holds one units"),
    breaking("units-of-none", "it says that it holds None units"),
    breaking("units-below-none", "it says that it holds -1 units"),
    breaking("units-and-a-half", "it says that it holds 1.5 units"),
    breaking("units-raise", "its units raise AttributeError"),
    breaking("raises-on-request", "ZeroDivisionError: division by nothing"),
    breaking("raises-on-release", "node 2 in on_release(): ZeroDivisionError"),
    breaking("raises-on-receive", "node 2 in on_receive(0, Token()): ZeroDivisionError"),
    breaking("raises-on-timer", "node 2 in on_timer(bomb): ZeroDivisionError"),
    breaking("raises-on-link-up", "in on_link_up", worlds=OVER_RADIO),
    breaking("raises-in-awaits", "in awaits(): ZeroDivisionError: division by nothing"),
    breaking("awaits-text", "it waits for ['godot'], which are not all nodes"),
    breaking("awaits-nowhere", "it waits for [77], which are not all nodes"),
    breaking("raises-exit", "node 2 in on_request(Demand(units=1, priority=0, deadline=None)): SystemExit"),
    breaking("raises-in-initial", "ZeroDivisionError: division by nothing"),
    breaking("raises-in-start", "node 2 in start"),
    breaking("initial-too-few", "initial returned a list of 5, not a list of 6"),
    breaking("initial-of-nothing", "initial returned None"),
    breaking("starts-nothing", "start returned None, not an agent of this node"),
    breaking("starts-another", "not an agent of this node"),
    breaking("starts-text", "start returned node 0, not an agent of this node"),
    breaking("skips-init", "AttributeError"),
    breaking("raises-in-without-links", "ZeroDivisionError: division by nothing", worlds=OVER_RADIO),
    breaking("loops-in-handler", "node 2 in on_request"),
    breaking("loops-and-catches", "node 2 in on_request"),
    breaking("loops-in-start", "node 2 in start"),
    breaking("fills-outbox", "node 2 in on_request"),
    unsafe("keeps-a-lock", "enters without a request"),
    unsafe("keeps-a-generator", "enters without a request"),
)

WRONG = (*TOKENS, *UNITS, *PERMISSIONS, *FAULTS, *NEIGHBOURHOODS, *BREACHES)
MEMBERS = {member.name: member for member in (*CORRECT, *WRONG)}

REFUSED = {
    "without-units": "found no units, which every algorithm must have that shares tokens",
    "raises-in-capacity": "capacity",
    "raises-in-largest-demand": "largest_demand",
    "raises-in-promises-bound": "promises_bound",
    "raises-in-uses-priorities": "uses_priorities",
    "raises-in-starts-permuted": "starts_permuted",
    "largest-demand-of-text": "largest_demand",
    "capacity-of-text": "capacity",
    "capacity-of-none": "capacity",
}
"""Algorithms that cannot be judged and so do not start, with the words that say why."""
STOPPED = {"loops-and-catches-all": "processor time"}
"""Algorithms that only the end of their process stops."""
