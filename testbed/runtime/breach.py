"""What an algorithm must keep to: whom it may send to, what its messages may hold, how it counts units.

The driver looks for breaches where looking costs nothing: when carrying out an outbox raises an exception, and at every
hundredth message once a class of messages has been seen to be in order. What is found is the same in every backend: one
line that names the node, the event, the output and the reason.
"""

from __future__ import annotations

import types
from collections.abc import Container
from dataclasses import fields
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from agents.codec import MAX_BITS, MAX_ITEMS
from agents.contract import TICKS, Agent, Shares
from agents.message import Message, tokens_of
from agents.outputs import BROADCAST, CANCEL_TIMER, DEPOSIT, READY_TO_LEAVE, REGENERATE, SEND, SET_TIMER, Op
from analysis.counted import counted
from testbed.durations import MAX_UNITS
from testbed.errors import TestbedError

MAX_SHOWN = 160
"""Characters of an event or an output in an error line."""


class AgentError(TestbedError):
    """An algorithm broke the contract or raised an exception, which is attached as the cause."""

    def __init__(
        self, why: str, *, node: int | None = None, t: int = 0, event: str = "", output: str = "", trace: str = ""
    ) -> None:
        super().__init__(why)
        self.why = why
        self.node = node
        self.t = t
        self.event = event
        """What the node was given."""
        self.output = output
        """What it asked for then; empty if it failed before."""
        self.trace = trace
        """The traceback of the process in which it happened, if that was another one."""

    def __str__(self) -> str:
        where = [] if self.node is None else [f"node {self.node}" + (f" in {self.event}" if self.event else "")]
        return ": ".join([*where, *([self.output] if self.output else []), self.why])


class Breach(Exception):
    """An output that is no output. The driver adds the node and the event."""

    def __init__(self, output: str, why: str) -> None:
        super().__init__(why)
        self.output = output
        self.why = why


class HandlerTimeout(BaseException):
    """A handler took too long. No `Exception`: an algorithm that catches those must not catch this one."""

    def __init__(self, node: int | None, event: str, why: str) -> None:
        super().__init__(why)
        self.node = node
        self.event = event
        self.why = why


RAISED = (Exception, SystemExit)
"""What a handler may raise that is its own fault."""


def shown(value: Any) -> str:
    """A value in an error line, cut short if it is long."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except Exception as error:  # noqa: BLE001  (the algorithm's own `__repr__`)
        text = f"{type(value).__name__} (its repr raises {type(error).__name__})"
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def called(name: str, *arguments: Any) -> str:
    """A call in an error line."""
    return shown(f"{name}({', '.join(shown(one) for one in arguments)})")


# -- outputs ----------------------------------------------------------------------------------------------------------


class OutboxRules:
    """Finds what is wrong in the outbox of one node."""

    def __init__(self, algorithm: type[Agent], nodes: Container[int], *, any_node: bool) -> None:
        """`any_node`: whether it may send to any of the `nodes`; otherwise to its neighbours only."""
        self._declared = algorithm.messages
        self._shares = algorithm.shares
        self._nodes = nodes
        self._any_node = any_node

    def breach(self, node: int, outbox: Any, neighbours: Container[int]) -> Breach | None:
        """The first breach in an outbox, if there is one."""
        if not isinstance(outbox, list):
            return Breach("", f"its outbox is {shown(outbox)}, not a list")
        for entry in outbox:
            breach = self._entry(node, entry, neighbours)
            if breach is not None:
                return breach
        return None

    def _entry(self, node: int, entry: Any, neighbours: Container[int]) -> Breach | None:
        if not (isinstance(entry, tuple) and len(entry) == 3 and isinstance(entry[0], Op)):
            return Breach(shown(entry), "an outbox entry of no known form; use send, enter, set_timer and so on")
        op, a, b = entry
        if op is SEND:
            if not isinstance(a, tuple):
                return Breach(called("send", a, b), "the peers are not a tuple of nodes")
            wrong = [(called("send", peer, b), why) for peer in a if (why := self.bad_peer(node, peer, neighbours))]
            if wrong:
                return Breach(*wrong[0])
        # The driver has changed a broadcast that it was carrying out: it has a group and a number of receivers.
        group = a[0] if op is BROADCAST and isinstance(a, tuple) and a else a
        if op in (BROADCAST, READY_TO_LEAVE, DEPOSIT) and type(group) is not int:
            return Breach(called(op.name.lower(), a, b), "a neighbourhood is a whole number")
        if op in (SEND, BROADCAST, DEPOSIT):
            why = self.bad_message(b)
            name = op.name.lower()
            return Breach(called(name, *(a if op is SEND else (a,)), b), why) if why else None
        if op is SET_TIMER:
            why = bad_timer(a, b)
            return Breach(called("set_timer", a, b), why) if why else None
        if op is CANCEL_TIMER and not isinstance(a, str):
            return Breach(called("cancel_timer", a), "the name of a timer is text")
        if op is REGENERATE and not (_is_amount(a) and _is_amount(b)):
            return Breach(called("regenerate", a, b), "units and tokens are whole numbers from 0")
        return None

    def bad_peer(self, node: int, peer: Any, neighbours: Container[int]) -> str | None:
        """Why a node may not send to a peer."""
        if type(peer) is not int:
            return f"{shown(peer)} is no node: nodes are whole numbers"
        if peer == node:
            return "a node does not send to itself"
        if peer not in self._nodes:
            return f"node {peer} does not exist"
        if not self._any_node and peer not in neighbours:
            return f"node {peer} is no neighbour"
        return None

    def bad_message(self, message: Any) -> str | None:
        """Why a message may not be sent."""
        if type(message) not in self._declared:
            what = "is not declared in the algorithm's `messages`" if isinstance(message, Message) else "is no Message"
            return f"{type(message).__name__} {what}"
        kind: Any = type(message)
        for name, hint in field_hints(kind).items():
            why = misfit(getattr(message, name), hint)
            if why:
                return f"the field {name} {why}"
        return self.bad_amount(message)

    def bad_amount(self, message: Message) -> str | None:
        """Why a message cannot carry the units that it says it carries."""
        try:
            units, tokens = message.units, tokens_of(message)
        except Exception as error:  # noqa: BLE001  (the algorithm's own property)
            return f"its units raise {type(error).__name__}: {error}"
        if not (_is_amount(units) and _is_amount(tokens)):
            return f"it carries {shown(units)} units and {shown(tokens)} tokens; both are whole numbers from 0"
        if (units or tokens) and self._shares is Shares.PERMISSIONS:
            return "it carries units, and the algorithm declares that it shares permissions"
        return None


def bad_timer(name: Any, delay: Any) -> str | None:
    """Why a timer cannot be set."""
    if not isinstance(name, str):
        return "the name of a timer is text"
    if type(delay) is not int or not 0 <= delay <= MAX_UNITS * TICKS:
        return f"a delay is a whole number of ticks, from 0 to {MAX_UNITS:g} time units"
    return None


# -- fields of messages -----------------------------------------------------------------------------------------------


@cache
def field_hints(kind: Any) -> dict[str, Any]:
    """The declared types of the fields of a class of messages."""
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}


def misfit(value: Any, hint: Any) -> str | None:
    """Why a value does not fit a declared type; a real radio could not carry it."""
    if hint is bool:
        return None if isinstance(value, bool) else f"is {shown(value)}, not true or false"
    if hint is int:
        if not isinstance(value, int):
            return f"is {shown(value)}, not a whole number"
        return None if value.bit_length() < MAX_BITS else f"does not fit in {MAX_BITS} bits"
    arguments = get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        present = next(one for one in arguments if one is not type(None))
        return None if value is None else misfit(value, present)
    if not isinstance(value, tuple):
        return f"is {shown(value)}, not a tuple"
    if arguments[-1] is Ellipsis:
        if len(value) > MAX_ITEMS:
            return f"has {len(value)} items, more than {MAX_ITEMS}"
        hints = [arguments[0]] * len(value)
    elif len(value) == len(arguments):
        hints = list(arguments)
    else:
        return f"is {shown(value)}, not a tuple of {len(arguments)}"
    return next((why for item, one in zip(value, hints, strict=True) if (why := misfit(item, one))), None)


# -- units ------------------------------------------------------------------------------------------------------------


def _is_amount(value: Any) -> bool:
    return type(value) is int and value >= 0


def awaited(agent: Agent, node: int, nodes: Container[int], *, t: int = 0) -> tuple[list[int], int]:
    """The nodes that an agent says it waits for, and how many of them it can do without; or `AgentError`."""
    try:
        peers, spares = sorted(agent.awaits()), agent.spares
    except RAISED as error:
        raise AgentError(f"{type(error).__name__}: {shown(str(error))}", node=node, t=t, event="awaits()") from error
    if not all(type(peer) is int and peer in nodes for peer in peers):
        raise AgentError(f"it waits for {shown(peers)}, which are not all nodes", node=node, t=t, event="awaits()")
    if not _is_amount(spares):
        raise AgentError(f"it spares {shown(spares)} nodes; a whole number from 0", node=node, t=t, event="awaits()")
    return peers, spares


def held(agent: Agent, node: int, *, t: int = 0, event: str = "") -> tuple[int, int]:
    """How many units and tokens the agent of a node says it holds, or `AgentError` if that is no number of units.

    Also if its outbox is no list: an outbox that is empty otherwise is not noticed when a step is carried out.
    """
    if type(agent.outbox) is not list:
        raise AgentError(f"its outbox is {shown(agent.outbox)}, not a list", node=node, t=t, event=event)
    try:
        units, tokens = agent.units, agent.tokens
    except RAISED as error:
        why = f"its units raise {type(error).__name__}: {error}"
        raise AgentError(why, node=node, t=t, event=event) from error
    if not (_is_amount(units) and _is_amount(tokens)):
        why = f"it says that it holds {shown(units)} units and {shown(tokens)} tokens; both are whole numbers from 0"
        raise AgentError(why, node=node, t=t, event=event)
    if (units or tokens) and agent.shares is Shares.PERMISSIONS:
        why = f"it says that it holds {counted(units, 'unit')}, and the algorithm declares that it shares permissions"
        raise AgentError(why, node=node, t=t, event=event)
    return units, tokens
