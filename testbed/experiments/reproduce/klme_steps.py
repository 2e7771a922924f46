"""One neighbourhood of KLME, stepped event by event: for Table 1 and section 5 of its paper.

The agents are those that the simulator runs. Here every message, entry and exit is kept with its time, so that what a
single request costs can be counted. Section 7 is left out (`recover: false`): the paper introduces it later, and
without it no agent sets a timer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from agents.contract import ONE_UNIT
from agents.groups import Group, GroupMessage, Member
from agents.klme import KLME
from agents.klme_leader import KLMEParameters
from agents.klme_messages import PerGrant, Release, ReqAck, ReqCS, Request
from agents.outputs import BROADCAST, ENTER, EVICT, READY_TO_LEAVE, SEND
from testbed.event_queue import EventQueue

HOP = 1000
"""How long a message takes (T), in ticks of this module, unless its caller says otherwise."""


@dataclass(frozen=True, slots=True)
class Sending:
    """A message that was sent."""

    time: int
    source: int
    target: int
    message: GroupMessage

    @property
    def request(self) -> Request | None:
        """The request that it belongs to; None for messages that belong to no single one."""
        message = self.message
        if isinstance(message, ReqCS | Release):
            return message.node, message.number
        return (self.target, message.number) if isinstance(message, ReqAck | PerGrant) else None


class Steps:
    """The members of a neighbourhood, and what happens to them. All times are in ticks of this module."""

    def __init__(self, nodes: int, k: int, leader: int, ack: str = "always", hop: Callable[[], int] | None = None):
        """`hop` draws how long a message takes; links are FIFO whatever it draws."""
        self.queue = EventQueue()
        self.sent: list[Sending] = []
        self.entries: list[tuple[int, int]] = []
        """Time and node of every entry."""
        self.exits: list[tuple[int, int]] = []
        self.stay: Callable[[int], int] | None = None
        """How long a node that enters stays inside; None to leave by `leave_cs` only."""
        self.after_exit: Callable[[int], None] = lambda node: None
        self._hop = hop or (lambda: HOP)
        self._arrives: dict[tuple[int, int], int] = {}  # by link: when its last message arrives
        self._visits = nodes
        parameters = KLMEParameters(k=k, leader=leader, ack=ack, recover=False)  # type: ignore[arg-type]
        group = Group(0, k, tuple(Member(node, node) for node in range(nodes)))
        starts = KLME.initial_in([group], nodes, parameters)
        self._parameters = parameters
        self.agents: dict[int, KLME] = {}
        """Those that are in the neighbourhood."""
        for node, start in enumerate(starts):
            self.agents[node] = KLME.start(node, start, parameters, Random(0))
        for node in range(nodes):
            self._carry_out(node)

    @property
    def leader(self) -> KLME:
        """The member that has the token."""
        (leader,) = (agent for agent in self.agents.values() if agent.holds_token)
        return leader

    def at(self, time: int, happen: Callable[[int], None], node: int) -> None:
        """Plan one of the events below."""
        self.queue.at(time, happen, node)

    def settle(self) -> None:
        """Let all happen that is planned, and deliver all messages."""
        self.queue.run(lambda: None)

    # -- what happens to a node --------------------------------------------------------------------------------------

    def request(self, node: int) -> None:
        """The application of a node asks for the critical section."""
        self.agents[node].on_request(ONE_UNIT)
        self._carry_out(node)

    def leave_cs(self, node: int) -> None:
        """The application of a node leaves its critical section."""
        self.exits.append((self.queue.now, node))
        self.agents[node].on_release()
        self._carry_out(node)
        self.after_exit(node)

    def join(self, node: int) -> None:
        """A node comes into the neighbourhood."""
        members = tuple(Member(one, agent.visit) for one, agent in sorted(self.agents.items()))
        agent = KLME.start(node, KLME.blank(node, None, self._parameters), self._parameters, Random(0))  # type: ignore[arg-type]
        self.agents[node] = agent
        agent.on_join(0, self._visits, members, None)
        self._visits += 1
        self._carry_out(node)

    def depart(self, node: int) -> None:
        """A node leaves the neighbourhood."""
        self.agents[node].on_leaving(0)
        self._carry_out(node)

    # -- what agents ask for -----------------------------------------------------------------------------------------

    def _carry_out(self, node: int) -> None:
        agent = self.agents[node]
        outputs, agent.outbox = agent.outbox, []
        for op, to, message in outputs:
            if op is SEND:
                self._send(node, to[0], message)
            elif op is BROADCAST:
                for one, member in sorted(self.agents.items()):
                    if one != node:
                        self._send(node, one, replace(message, to_visit=member.visit))
            elif op is ENTER:
                self.entries.append((self.queue.now, node))
                if self.stay is not None:
                    self.at(self.queue.now + self.stay(node), self.leave_cs, node)
            elif op is READY_TO_LEAVE:
                del self.agents[node]
            else:
                assert op is EVICT, "an agent without timers and a neighbourhood that is never empty"

    def _send(self, source: int, target: int, message: GroupMessage) -> None:
        link, now = (source, target), self.queue.now
        sending = Sending(now, source, target, message)
        self.sent.append(sending)
        self._arrives[link] = max(now + self._hop(), self._arrives.get(link, 0))
        self.queue.at(self._arrives[link], self._receive, sending)

    def _receive(self, sending: Sending) -> None:
        agent = self.agents.get(sending.target)
        if agent is not None and agent.visit == sending.message.to_visit:
            agent.on_receive(sending.source, sending.message)
            self._carry_out(sending.target)
