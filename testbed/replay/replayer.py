"""Gives the inputs that a node had in a run to a fresh agent, step by step, and compares its outputs with the log.

An agent is a pure state machine, so it does the same again, and a failure on another machine can be examined on this
one. If it does something else, either its code has changed since, or it depends on something that is not an input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from agents.contract import Agent
from agents.groups import Member
from agents.message import Message
from agents.outputs import Broadcast, CancelTimer, Deposit, Enter, Evict, ReadyToLeave, Regenerate, Send, SetTimer
from agents.outputs import Output as AgentOutput
from agents.snapshot import copied, frozen
from analysis.load import load_run
from testbed.backends.repetition import Repetition
from testbed.durations import MAX_UNITS, to_ticks
from testbed.errors import InputError
from testbed.randomness import Streams
from testbed.replay.node_history import Incarnation, Input, Letter, NodeLog, Output, read_node_log
from testbed.runtime.breach import RAISED, AgentError, HandlerTimeout, OutboxRules
from testbed.runtime.cluster_member import ClusterMember
from testbed.runtime.handler_watch import HandlerWatch, watch_calls_of
from testbed.scenario.loader import load
from testbed.scenario.schema import Scenario

_LOGGED = ("send", "broadcast", "enter", "evict", "deposit", "regenerate")
"""The outputs that are compared with the log; setting a timer and being ready to leave are not logged."""


_NAMES: dict[type[AgentOutput], str] = {
    Enter: "enter",
    Evict: "evict",
    Broadcast: "broadcast",
    Deposit: "deposit",
    Regenerate: "regenerate",
    ReadyToLeave: "ready_to_leave",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """The first output of a step in which the log and the fresh agent differ; None for no more outputs."""

    recorded: Output | None
    now: Output | None


@dataclass(slots=True)
class Step:
    """One input, and what the fresh agent did."""

    given: Input
    outputs: list[Output] = field(default_factory=list)
    changes: dict[str, Any] = field(default_factory=dict)
    """The attributes of the agent that have changed, with their new values."""
    difference: Difference | None = None
    raised: BaseException | None = None
    differs: bool = False
    """Whether the log has something else."""


@dataclass(frozen=True, slots=True)
class NodeReplay:
    """A node's run, repeated."""

    path: Path
    scenario: Scenario
    repetition: int
    node: int
    log: NodeLog
    steps: list[Step]
    state: dict[str, Any]
    """The attributes of the agent at the end, or when it crashed."""
    missing: str | None
    """Why the replay went no further: a message that no log has."""

    @property
    def differences(self) -> list[Step]:
        """The steps in which the log has something else."""
        return [step for step in self.steps if step.differs]

    @property
    def failed(self) -> bool:
        """Whether anything differs, or the agent raised an exception, even if it did so in the run."""
        return any(step.differs or step.raised for step in self.steps)


def replay(path: Path, *, node: int, repetition: int = 0, until: float | None = None) -> NodeReplay:
    """Repeat what a node did in a run, up to a time in time units."""
    run = load_run(path)
    scenario = load(path / "scenario.yaml")
    if not 0 <= node < scenario.nodes:
        raise InputError(f"--node {node}: no such node; {path} has nodes 0..{scenario.nodes - 1}")
    if until is not None and not 0 <= until <= MAX_UNITS:
        raise InputError(f"--until {until:g}: a time in time units, from 0 to {MAX_UNITS:g}")
    folder = path / f"rep-{repetition:03d}"
    if folder not in run.repetitions:
        names = [one.name for one in run.repetitions]
        begun = f"{names[0]} to {names[-1]}" if names else "none"
        raise InputError(f"--repetition {repetition}: no such repetition; {path} has {begun}")
    log = read_node_log(folder, node)
    stepper = _Stepper(Repetition(scenario, Streams(scenario.seed, repetition)), scenario, node)
    ticks = None if until is None else to_ticks(until)
    with HandlerWatch(scenario.handler_limit):
        for incarnation in log.incarnations:
            stepper.run(incarnation, ticks)
    return NodeReplay(path, scenario, repetition, node, log, stepper.steps, stepper.state, stepper.missing)


class _Stepper:
    """Steps fresh agents through the incarnations of a node."""

    def __init__(self, repetition: Repetition, scenario: Scenario, node: int) -> None:
        self._repetition = repetition
        self._messages = {kind.__name__: kind for kind in scenario.algorithm.agent.messages}
        self._algorithm = scenario.algorithm.name
        self._rules = OutboxRules(scenario.algorithm.agent, range(scenario.nodes), any_node=True)
        self._node = node
        self._agent: Agent
        self._known: dict[str, Any] = {}  # the agent's attributes in canonical form
        self.state: dict[str, Any] = {}
        self.steps: list[Step] = []
        self.missing: str | None = None

    def run(self, incarnation: Incarnation, until: int | None) -> None:
        """Repeat one incarnation, as far as its inputs are known."""
        for given, following in zip_longest(incarnation.inputs, incarnation.inputs[1:]):
            if self.missing is not None or (until is not None and given.t > until):
                return
            ends_here = following is None and not incarnation.is_whole
            step = self._step(given, cut_short=ends_here or (following is not None and following.kind == "crash"))
            if step is None:
                return
            self.steps.append(step)
            if step.raised is not None:
                return

    def _step(self, given: Input, *, cut_short: bool) -> Step | None:
        """Give the agent one input. None if that cannot be done.

        Outputs that the log lacks at the end are no difference if it may have been `cut_short` there.
        """
        step = Step(given)
        if given.kind in ("start", "restart"):
            initial = self._repetition.initial_state
            start = initial.agent if given.kind == "start" else initial.restarted
            self._agent, self._known, self.state = start(self._node), {}, {}
            step.outputs = list(_outputs(self._agent))
        elif given.kind != "crash":
            call = self._call(given)
            if call is None:
                return None
            name, arguments = call
            try:
                getattr(self._agent, name)(*arguments)
                self._check_outbox()
                step.outputs = list(_outputs(self._agent))
            except (*RAISED, HandlerTimeout) as error:  # any exception of an agent is a result to show
                step.raised = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
        step.changes = self._changes()
        logged = [output for output in step.outputs if output.kind in _LOGGED]
        step.difference = _difference(given.outputs, logged, cut_short=cut_short)
        step.differs = step.difference is not None or (step.raised is not None and not cut_short)
        return step

    def _check_outbox(self) -> None:
        """What no node can do is no output, but the end of the run."""
        breach = self._rules.breach(self._node, self._agent.outbox, ())
        if breach is not None:
            raise AgentError(breach.why, node=self._node, output=breach.output)

    def _call(self, given: Input) -> tuple[str, tuple[Any, ...]] | None:
        """The agent's method for an input, and what it is given."""
        if given.kind == "request":
            return "on_request", (given.demand,)
        if given.kind == "exit":
            return "on_release", ()
        if given.kind in ("link_up", "link_down"):
            return f"on_{given.kind}", (given.peer,)
        if given.kind == "timer":
            return "on_timer", (given.timer,)
        if given.kind in ("join", "leaving", "left", "refused"):
            return self._call_in_group(given)
        if given.letter is None:
            sender, receiver = (given.peer, self._node) if given.kind == "recv" else (self._node, given.peer)
            number = f"message {given.number} from node {sender} to node {receiver}"
            self.missing = f"no log has {number}, which the next input, a {given.kind}, needs"
            return None
        name = "on_receive" if given.kind == "recv" else "on_return"
        return name, (given.peer, self._message(given.letter))

    def _call_in_group(self, given: Input) -> tuple[str, tuple[Any, ...]]:
        """The same for an input that has to do with the node's neighbourhood."""
        token = None if given.letter is None else self._message(given.letter)
        if given.kind == "join":
            return "on_join", (given.group, given.visit, tuple(Member(*one) for one in given.members), token)
        if given.kind == "refused":
            return "on_return", (self._node, token)
        return f"on_{given.kind}", (given.group,)

    def _message(self, letter: Letter) -> Message:
        kind = self._messages.get(letter.type)
        try:
            if kind is not None:
                return kind(*letter.fields)
        except TypeError:  # it has another number of fields
            pass
        raise InputError(f"{self._algorithm} has no message {letter.type} with fields {letter.fields} in this version")

    def _changes(self) -> dict[str, Any]:
        """The attributes that have changed since the last call; in a cluster, of the agent inside it."""
        agent = self._agent.agent if isinstance(self._agent, ClusterMember) else self._agent
        values = {name: value for name, value in vars(agent).items() if name not in ("node", "outbox")}
        canonical = {name: _canonical(value) for name, value in values.items()}
        fresh = [name for name in values if name not in self._known or self._known[name] != canonical[name]]
        self._known = canonical
        changes = {name: copied(values[name]) for name in fresh}
        self.state = {name: changes.get(name, self.state.get(name)) for name in values}
        return changes


watch_calls_of(_Stepper._step, lambda local: (local["self"]._node, local["given"].kind))


def _canonical(value: Any) -> Any:
    try:
        return frozen(value)
    except TypeError:  # something that an agent should not keep
        return repr(value)


def _outputs(agent: Agent) -> Iterator[Output]:
    for output in agent.take_outputs():
        if isinstance(output, SetTimer):
            yield Output("set_timer", timer=output.name, delay=output.delay)
        elif isinstance(output, CancelTimer):
            yield Output("cancel_timer", timer=output.name)
        elif isinstance(output, Send | Broadcast | Deposit):
            kind, peer = ("send", output.peer) if isinstance(output, Send) else (_NAMES[type(output)], output.group)
            yield Output(kind, peer, Letter(type(output.message).__name__, astuple(output.message)))  # type: ignore[call-overload]
        else:
            yield Output(_NAMES[type(output)])


def _difference(recorded: list[Output], now: list[Output], *, cut_short: bool) -> Difference | None:
    for said, done in zip_longest(recorded, now):
        if said != done and not (said is None and cut_short):
            return Difference(said, done)
    return None
