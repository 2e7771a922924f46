"""Breaches of the contract: each is found, and told in one line with the output and the reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from agents.codec import MAX_BITS, MAX_ITEMS
from agents.contract import TICKS, Agent, Shares
from agents.message import Message
from agents.outputs import (
    BROADCAST,
    CANCEL_TIMER,
    DEPOSIT,
    ENTER,
    READY_TO_LEAVE,
    REGENERATE,
    SEND,
    SET_TIMER,
    PackedOutput,
)
from agents.rl import LinkInfo, ReverseLink
from testbed.runtime.breach import MAX_SHOWN, AgentError, OutboxRules, awaited, called, held, misfit, shown
from tests.agents.rl_variants import registered
from tests.testbed.simulate import simulate
from tests.testbed.tiny import Unsafe


@dataclass(frozen=True, slots=True)
class Ask(Message):
    """Has a field of every kind."""

    number: int = 1
    path: tuple[int, ...] = ()
    pair: tuple[int, bool] = (1, True)
    maybe: int | None = None


@dataclass(frozen=True, slots=True)
class Load(Message):
    """Carries what its field says, which may be nonsense."""

    amount: Any = field(default=1)

    @property
    def units(self) -> Any:  # type: ignore[override]
        return 1 / 0 if self.amount == "raises" else self.amount


@dataclass(frozen=True, slots=True)
class Secret(Message):
    """Is not declared."""


class Sender(Agent):
    """Declares the messages."""

    messages = (Ask, Load)


class Sharing(Sender):
    """The same, with permissions."""

    shares = Shares.PERMISSIONS


NODES, NEIGHBOURS = range(5), (1, 2)
RULES = OutboxRules(Sender, NODES, any_node=False)
OF_PERMISSIONS = OutboxRules(Sharing, NODES, any_node=True)
MESSAGE = "Ask(number=1, path=(), pair=(1, True), maybe=None)"


# -- outputs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "output",
    [
        (SEND, (1, 2), Ask()),
        (SEND, (), Ask()),
        (SEND, (1,), Ask(-5, (3, 4), (0, False), 7)),
        (ENTER, None, None),
        (SET_TIMER, "again", 0),
        (SET_TIMER, "again", 5 * TICKS),
        (CANCEL_TIMER, "again", None),
        (BROADCAST, 0, Ask()),
        (DEPOSIT, 0, Ask()),
        (READY_TO_LEAVE, 3, None),
        (REGENERATE, 2, 1),
    ],
)
def test_what_an_agent_may_ask_for(output: PackedOutput) -> None:
    assert RULES.breach(0, [output], NEIGHBOURS) is None


@pytest.mark.parametrize(
    ("output", "said", "why"),
    [
        ((SEND, (1, 3), Ask()), f"send(3, {MESSAGE})", "node 3 is no neighbour"),
        ((SEND, (9,), Ask()), f"send(9, {MESSAGE})", "node 9 does not exist"),
        ((SEND, (-1,), Ask()), f"send(-1, {MESSAGE})", "node -1 does not exist"),
        ((SEND, (0,), Ask()), f"send(0, {MESSAGE})", "a node does not send to itself"),
        ((SEND, ("1",), Ask()), f"send(1, {MESSAGE})", "1 is no node: nodes are whole numbers"),
        ((SEND, (True,), Ask()), f"send(True, {MESSAGE})", "True is no node: nodes are whole numbers"),
        ((SEND, 1, Ask()), f"send(1, {MESSAGE})", "the peers are not a tuple of nodes"),
        ((SEND, (1,), Secret()), "send(1, Secret())", "Secret is not declared in the algorithm's `messages`"),
        ((BROADCAST, 0, Secret()), "broadcast(0, Secret())", "Secret is not declared in the algorithm's `messages`"),
        ((SEND, (1,), None), "send(1, None)", "NoneType is no Message"),
        ((SEND, (1,), Ask), f"send(1, {Ask!r})", "type is no Message"),
        ((SEND, (1,), Ask("one")), None, "the field number is one, not a whole number"),
        ((SEND, (1,), Ask(1, [1])), None, "the field path is [1], not a tuple"),
        ((SEND, (1,), Load(-1)), "send(1, Load(amount=-1))", None),
        ((SET_TIMER, 7, TICKS), "set_timer(7, 1000000000)", "the name of a timer is text"),
        (
            (SET_TIMER, "again", -1),
            "set_timer(again, -1)",
            "a delay is a whole number of ticks, from 0 to 1e+09 time units",
        ),
        (
            (SET_TIMER, "again", 0.5),
            "set_timer(again, 0.5)",
            "a delay is a whole number of ticks, from 0 to 1e+09 time units",
        ),
        ((CANCEL_TIMER, 7, None), "cancel_timer(7)", "the name of a timer is text"),
        ((REGENERATE, -1, 1), "regenerate(-1, 1)", "units and tokens are whole numbers from 0"),
        ((READY_TO_LEAVE, "here", None), "ready_to_leave(here, None)", "a neighbourhood is a whole number"),
        ((DEPOSIT, None, Ask()), f"deposit(None, {MESSAGE})", "a neighbourhood is a whole number"),
        ((BROADCAST, "here", Ask()), f"broadcast(here, {MESSAGE})", "a neighbourhood is a whole number"),
        ([SEND, (1,), Ask()], None, "an outbox entry of no known form; use send, enter, set_timer and so on"),
        ((SEND, (1,)), None, "an outbox entry of no known form; use send, enter, set_timer and so on"),
        (("send", 1, Ask()), None, "an outbox entry of no known form; use send, enter, set_timer and so on"),
    ],
)
def test_what_it_may_not(output: Any, said: str | None, why: str | None) -> None:
    """The first wrong output is shown as the agent would have written it."""
    breach = RULES.breach(0, [(ENTER, None, None), output, (SEND, (0,), Secret())], NEIGHBOURS)
    assert breach is not None
    assert said is None or breach.output == said
    assert why is None or breach.why.startswith(why)


@pytest.mark.parametrize("outbox", [None, "", (), {}])
def test_an_outbox_that_is_no_list(outbox: Any) -> None:
    breach = RULES.breach(0, outbox, NEIGHBOURS)
    assert breach is not None
    assert breach.why == f"its outbox is {shown(outbox)}, not a list"


def test_an_algorithm_that_addresses_any_node() -> None:
    """It needs no link, but its receiver must exist."""
    assert OF_PERMISSIONS.bad_peer(0, 3, NEIGHBOURS) is None
    assert OF_PERMISSIONS.bad_peer(0, 5, NEIGHBOURS) == "node 5 does not exist"


@pytest.mark.parametrize(
    ("amount", "why"),
    [
        (0, None),
        (3, None),
        (-1, "it carries -1 units and -1 tokens; both are whole numbers from 0"),
        ("one", "it carries one units and one tokens; both are whole numbers from 0"),
        (0.5, "it carries 0.5 units and 0.5 tokens; both are whole numbers from 0"),
        ("raises", "its units raise ZeroDivisionError: division by zero"),
    ],
)
def test_what_messages_may_carry(amount: Any, why: str | None) -> None:
    assert RULES.bad_amount(Load(amount)) == why


def test_permissions_are_not_carried() -> None:
    assert OF_PERMISSIONS.bad_amount(Load(0)) is None
    declares = "it carries units, and the algorithm declares that it shares permissions"
    assert OF_PERMISSIONS.bad_amount(Load(1)) == declares


@pytest.mark.parametrize(
    ("value", "hint", "why"),
    [
        (True, bool, None),
        (1, bool, "is 1, not true or false"),
        (5, int, None),
        (2**MAX_BITS, int, f"does not fit in {MAX_BITS} bits"),
        ("5", int, "is 5, not a whole number"),
        (None, int | None, None),
        ("5", int | None, "is 5, not a whole number"),
        ((1, 2), tuple[int, ...], None),
        ([1, 2], tuple[int, ...], "is [1, 2], not a tuple"),
        ((1, "2"), tuple[int, ...], "is 2, not a whole number"),
        ((0,) * (MAX_ITEMS + 1), tuple[int, ...], f"has {MAX_ITEMS + 1} items, more than {MAX_ITEMS}"),
        ((1, True), tuple[int, bool], None),
        ((1,), tuple[int, bool], "is (1,), not a tuple of 2"),
        (((1, 2), (3,)), tuple[tuple[int, int], ...], "is (3,), not a tuple of 2"),
    ],
)
def test_what_fields_may_hold(value: Any, hint: Any, why: str | None) -> None:
    """What no radio could carry is no value of a field."""
    assert misfit(value, hint) == why


# -- what an agent says of itself -------------------------------------------------------------------------------------


class Saying(Agent):
    """Says what it is told to say."""

    def __init__(self, units: Any = 0, awaits: Any = (), spares: Any = 0) -> None:
        super().__init__(0)
        self.say, self.awaited, self.spares = units, awaits, spares

    @property
    def units(self) -> Any:
        return self.say if self.say != "raises" else 1 / 0


class SayingPermissions(Saying):
    """The same, with permissions."""

    shares = Shares.PERMISSIONS


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (Saying("one"), "it says that it holds one units and one tokens; both are whole numbers from 0"),
        (Saying(-1), "it says that it holds -1 units and -1 tokens; both are whole numbers from 0"),
        (Saying(True), "it says that it holds True units and True tokens; both are whole numbers from 0"),
        (Saying("raises"), "its units raise ZeroDivisionError: division by zero"),
        (SayingPermissions(1), "it says that it holds 1 unit, and the algorithm declares that it shares permissions"),
    ],
)
def test_what_it_says_it_holds(agent: Agent, why: str) -> None:
    with pytest.raises(AgentError) as caught:
        held(agent, 3, t=7, event="on_release()")
    assert str(caught.value) == f"node 3 in on_release(): {why}"
    assert (caught.value.node, caught.value.t) == (3, 7)
    assert held(Saying(2), 3) == (2, 2)


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (Saying(awaits=("godot",)), "it waits for ['godot'], which are not all nodes"),
        (Saying(awaits=(77,)), "it waits for [77], which are not all nodes"),
        (Saying(awaits=5), "TypeError: 'int' object is not iterable"),
        (Saying(spares="many"), "it spares many nodes; a whole number from 0"),
        (Saying(spares=-1), "it spares -1 nodes; a whole number from 0"),
    ],
)
def test_whom_it_says_it_waits_for(agent: Agent, why: str) -> None:
    with pytest.raises(AgentError) as caught:
        awaited(agent, 3, NODES, t=7)
    assert str(caught.value) == f"node 3 in awaits(): {why}"
    assert awaited(Saying(awaits=(4, 1), spares=1), 3, NODES) == ([1, 4], 1)


# -- one line ---------------------------------------------------------------------------------------------------------


def test_an_error_says_as_much_as_is_known() -> None:
    assert str(AgentError("why")) == "why"
    assert str(AgentError("why", node=3)) == "node 3: why"
    assert str(AgentError("why", node=3, event="start", output="enter()")) == "node 3 in start: enter(): why"


class Unspeakable:
    """Cannot be shown."""

    def __repr__(self) -> str:
        raise LookupError


def test_what_is_shown_is_short_and_never_raises() -> None:
    assert called("on_receive", 3, Secret()) == "on_receive(3, Secret())"
    assert len(shown("x" * 10_000)) == len(called("send", *range(1_000))) == MAX_SHOWN
    assert shown("x" * 10_000).endswith("...")
    assert shown(Unspeakable()) == "Unspeakable (its repr raises LookupError)"


# -- in a run ---------------------------------------------------------------------------------------------------------


class Tired(ReverseLink):
    """Tells its neighbours a number now and then, and in the end a text."""

    messages = (*ReverseLink.messages, Ask)
    handlers: ClassVar = {**ReverseLink.handlers, Ask: "on_ask"}
    numbers = 0
    heard = 0

    def on_link_info(self, j: int, message: LinkInfo) -> None:
        super().on_link_info(j, message)
        self.heard += 1
        if j in self.height:
            self.send(j, Ask(self.heard if self.heard <= self.numbers else "many"))  # type: ignore[arg-type]

    def on_ask(self, j: int, message: Ask) -> None:
        """It does not care."""


class TiredLate(Tired):
    """After some 300 messages of all nodes."""

    numbers = 30


@pytest.mark.parametrize("agent", [Tired, TiredLate])
def test_a_breach_that_comes_late_is_found(agent: type[Agent]) -> None:
    """Messages are inspected one by one at first, and later now and then."""
    changes = {"kind": "random", "connectivity": 0.6, "link_change_rate": 1.0}
    breach = r"^node \d in on_.*: send\(\d, Ask\(number='many', .*: the field number is many, not a whole number$"
    with registered(agent), pytest.raises(AgentError, match=breach):
        simulate(topology=changes, workload={"rate": 1.0}, duration=500.0)


class Quits(ReverseLink):
    """Leaves the program."""

    def on_release(self) -> None:
        raise SystemExit(0)


class Confused(ReverseLink):
    """Forgets its outbox."""

    def on_release(self) -> None:
        super().on_release()
        self.outbox = None  # type: ignore[assignment]


class Impolite(ReverseLink):
    """Asks what it must not, in its first moment."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.send(self.node, LinkInfo(self.my_height))


@pytest.mark.parametrize(
    ("agent", "breach"),
    [
        (Quits, r"^node \d in on_release\(\): SystemExit: 0$"),
        (Confused, r"^node \d in .*: its outbox is None, not a list$"),
        (Impolite, r"^node 0 in start\(?\)?: send\(0, LinkInfo\(.*\)\): a node does not send to itself$"),
    ],
)
def test_where_a_breach_is_found(agent: type[Agent], breach: str) -> None:
    with registered(agent), pytest.raises(AgentError, match=breach):
        simulate(workload={"rate": 0.5})


def test_what_a_check_finds_is_no_breach() -> None:
    """Nodes that enter together keep to the contract, and are not safe."""
    with registered(Unsafe):
        verdicts = simulate(workload={"rate": 1.0}).verdicts
    assert (verdicts["safety"], verdicts["contract"]) == ("failed", "ok")
