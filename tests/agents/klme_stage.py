"""KLME on a stage: neighbourhoods whose nodes come and go, and messages that the test itself delivers.

A message is for one visit of its receiver; if that is over when it arrives, it is lost. A broadcast is one message to
every member. A departure follows the messages of the step in which the node was ready, as in the driver.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from agents.contract import CRITICAL, ONE_UNIT, REMAINDER, WAITING
from agents.groups import Group, Member
from agents.klme import KLME
from agents.klme_messages import Token
from agents.message import Message
from agents.outputs import Broadcast, Deposit, Enter, Evict, Output, ReadyToLeave, Regenerate, Send
from testbed.network.place_register import PlaceRegister
from tests.agents.any_node_stage import AnyNodeStage
from tests.agents.stage import shown

SETTLE_STEPS = 5_000
REST_ROUNDS = 20


class KLMEStage(AnyNodeStage):
    """Agents in neighbourhoods. `groups` lists the members of each at the start; other nodes are outside.

    With `late`, a message to a visit that is over is delivered to a later visit of its receiver to the same group.
    """

    agents: dict[int, KLME]

    def __init__(
        self,
        groups: Sequence[Sequence[int]],
        agent: type[KLME] = KLME,
        *,
        nodes: int | None = None,
        late: bool = False,
        **parameters: Any,
    ) -> None:
        chosen = agent.parameters(**{"k": 2, **parameters})
        starts = [
            Group(number, chosen.k, tuple(Member(node, visit) for visit, node in enumerate(members)))
            for number, members in enumerate(groups)
        ]
        count = nodes if nodes is not None else sum(map(len, groups))
        initial = agent.initial_in(starts, count, chosen)
        self.capacity, self.late = chosen.k, late
        self.places = [
            PlaceRegister(chosen.k, one.members, None if one.members else agent.first_deposit(one, chosen))
            for one in starts
        ]
        self.asking: set[int] = set()  # applications that wait, in a group or outside
        self.log: list[tuple[int, int, Message]] = []  # every message that was sent: from, to, what
        self.lost_tokens = self.regenerated = self.evictions = 0
        self.refusals: list[int] = []
        super().__init__({node: agent.start(node, initial[node], chosen, Random(0)) for node in range(count)})
        for node in self.agents:
            self._step(node, "Start", lambda agent: None)

    # -- what a test does --------------------------------------------------------------------------------------------

    def request(self, *nodes: int) -> None:
        for node in nodes:
            self.asking.add(node)
            super().request(node)

    def join(self, node: int, group: int = 0) -> None:
        """A node arrives; if its application still waits, it asks now."""
        visit, members, deposit = self.places[group].arrive(node)
        if node in self.asking:
            self._step(node, "RequestCS", lambda agent: agent.on_request(ONE_UNIT))
        what = f"Join {group} in visit {visit} with {[one.node for one in members]}"
        self._step(node, what, lambda agent: agent.on_join(group, visit, members, deposit))

    def leave(self, node: int) -> None:
        """A node learns that it leaves; it goes when its agent is ready."""
        group = self.group_of(node)
        self._step(node, f"Leaving {group}", lambda agent: agent.on_leaving(group))

    def deliver(self, source: int, target: int) -> None:
        message, agent = self.channels[source, target][0], self.agents[target]
        if self.late and message.group == agent.group:
            message = replace(message, to_visit=agent.visit)
        if (message.group, message.to_visit) == (agent.group, agent.visit):
            super().deliver(source, target)
        else:
            self.lose(source, target, "it has left")

    def lose(self, source: int, target: int, why: str = "a fault") -> None:
        """The message that would arrive next is lost."""
        message = self.channels[source, target].popleft()
        self.script.append(f"{target}: loses {shown(message)} from {source}: {why}")
        self.lost_tokens += isinstance(message, Token)

    def deliver_kind(self, kind: type, source: int, target: int) -> None:
        """Deliver up to the first message of a kind."""
        while not isinstance(self.channels[source, target][0], kind):
            self.deliver(source, target)
        self.deliver(source, target)

    def deliver_round(self) -> None:
        """All that is in transit arrives: one message delay T passes."""
        due = [(ends, len(self.channels[ends])) for ends in self.busy()]
        for ends, count in due:
            for _ in range(count):
                self.deliver(*ends)

    def rest(self, *stay: int) -> list[int]:
        """Deliver, run timers and release, but not the nodes that stay inside. Returns the nodes that still wait."""
        for _ in range(REST_ROUNDS):
            self.deliver_all()
            for node, name in sorted(self.timers):
                self.run_out(node, name)
            for node in sorted(self.inside.difference(stay)):
                self.release(node)
            self.check()
        return self.waiting()

    # -- what a test asks --------------------------------------------------------------------------------------------

    def sent(self) -> Counter[str]:
        """How many messages of each type were sent."""
        return Counter(type(message).__name__ for _, _, message in self.log)

    def group_of(self, node: int) -> int | None:
        return next((group for group, place in enumerate(self.places) if node in place.visits), None)

    def idle(self) -> list[int]:
        """The nodes that may ask: in a group, and not about to leave it."""
        return [node for node in super().idle() if self.is_staying(node) and node not in self.asking]

    def is_staying(self, node: int) -> bool:
        return self.group_of(node) is not None and not self.agents[node].leaving

    def outside(self) -> list[int]:
        return [node for node in self.agents if self.group_of(node) is None]

    def leader(self, group: int = 0) -> KLME:
        """The member that holds the token."""
        (holder,) = [self.agents[node] for node in self.places[group].visits if self.agents[node].holds_token]
        return holder

    def tokens(self, group: int) -> list[str]:
        """Where there is a token that can still be used: not one on its way to a visit that is over."""
        visits, deposit = self.places[group].visits, self.places[group].deposit
        return [
            *(f"node {node}" for node in sorted(visits) for _ in range(self.agents[node].tokens)),
            *(["the place"] if deposit is not None else []),
            *(
                f"from {source} to {target}"
                for (source, target), message in self.tokens_in_transit()
                if message.group == group and (self.late or visits.get(target) == message.to_visit)
            ),
        ]

    def tokens_in_transit(self) -> list[tuple[tuple[int, int], Token]]:
        return [(ends, one) for ends in self.busy() for one in self.channels[ends] if isinstance(one, Token)]

    def check(self, capacity: int | None = None) -> None:
        """What holds in every configuration."""
        critical = {node for node, agent in self.agents.items() if agent.status is CRITICAL}
        assert critical == self.inside, self.told(f"{sorted(critical)} believe to be inside, {sorted(self.inside)} are")
        for node in sorted(self.asking):
            is_asked_for = self.agents[node].status is WAITING
            assert is_asked_for is self.is_staying(node), self.told(f"the agent of node {node} has lost a request")
        for group, place in enumerate(self.places):
            inside = sorted(self.inside & set(place.visits))
            assert len(inside) <= self.capacity, self.told(f"inside together: {inside} in group {group}")
            assert len(self.tokens(group)) <= 1, self.told(f"tokens of group {group}: {self.tokens(group)}")
        assert all(self.group_of(node) is not None for node in self.inside), self.told("inside without a group")
        for agent in self.agents.values():
            is_idle_leader = agent.holds_token and agent.status is REMAINDER and not agent.leaving
            assert agent.free > 0 or not is_idle_leader, self.told(f"no unit is free at the idle leader {agent.node}")
        deposits = [place.deposit for place in self.places if place.deposit is not None]
        for token in (*deposits, *(token for _, token in self.tokens_in_transit())):
            assert isinstance(token, Token)
            assert 0 <= token.free <= self.capacity == token.units, self.told(f"a token is wrong: {token}")

    def check_at_rest(self) -> None:
        """What holds when all requests are served and nothing is in transit: one token each, all units free."""
        assert self.lost_tokens == self.regenerated, self.told(f"{self.lost_tokens} lost, {self.regenerated} made anew")
        for group, place in enumerate(self.places):
            assert len(self.tokens(group)) == 1, self.told(f"tokens of group {group}: {self.tokens(group)}")
            if place.visits:
                leader = self.leader(group)
                assert leader.free == self.capacity, self.told(f"units that are not free: {leader.alloc}")

    # -- inside ------------------------------------------------------------------------------------------------------

    def _step(self, node: int, what: str, event: Any) -> None:
        self.script.append(f"{node}: {what}")
        agent = self.agents[node]
        event(agent)
        outputs = agent.take_outputs()
        last = [one for one in outputs if isinstance(one, ReadyToLeave | Deposit)]
        for output in [*(one for one in outputs if one not in last), *last]:
            self._carry_out(node, output)

    def _carry_out(self, node: int, output: Output) -> None:
        group = self.group_of(node)
        if isinstance(output, Broadcast):
            assert group is not None
            for one in self.places[group].members():
                if one.node != node:
                    self._carry_out(node, Send(one.node, replace(output.message, to_visit=one.visit)))
        elif isinstance(output, Evict):
            self.script.append("     Evict")
            self.inside.remove(node)
            self.asking.add(node)
            self.evictions += 1
        elif isinstance(output, Regenerate):
            self.script.append("     Regenerate")
            self.regenerated += 1
        elif isinstance(output, ReadyToLeave):
            self._depart(node)
        elif isinstance(output, Deposit):
            self._put_down(node, output)
        else:
            super()._carry_out(node, output)
            if isinstance(output, Send):
                self.log.append((node, output.peer, output.message))
            elif isinstance(output, Enter):
                self.asking.remove(node)

    def _put_down(self, node: int, output: Deposit) -> None:
        place = self.places[output.group]
        if place.put_down(node, place.visits[node], output.message):
            self.script.append(f"     puts {shown(output.message)} down at {output.group}")
            self._step(node, f"Left {output.group}", lambda agent: agent.on_left(output.group))
        else:
            self.refusals.append(node)
            self._step(node, "Refused", lambda agent: agent.on_return(node, output.message))

    def _depart(self, node: int) -> None:
        group = self.group_of(node)
        assert group is not None, self.told(f"node {node} leaves twice")
        assert not self.agents[node].tokens, self.told(f"node {node} takes the token along")
        self.places[group].leave(node, self.places[group].visits[node])
        self._step(node, f"Left {group}", lambda agent: agent.on_left(group))


def drawn_stage(rng: Random, agent: type[KLME] = KLME) -> KLMEStage:
    """One to three groups, in which up to seven nodes start, or none."""
    nodes, groups = rng.randint(2, 7), rng.randint(1, 3)
    members: list[list[int]] = [[] for _ in range(groups)]
    for node in range(nodes):
        if rng.random() < 0.8:
            members[rng.randrange(groups)].append(node)
    return KLMEStage(members, agent, nodes=nodes, k=rng.randint(1, 3), ack=rng.choice(("always", "queued")))


def play(seed: int, agent: type[KLME] = KLME, steps: int = 250, *, losses: float = 0.0) -> KLMEStage:
    """Random requests, releases, arrivals, departures, deliveries and timers; at the end all are served.

    `losses`: the share of Tokens that are lost when they would arrive.
    """
    rng = Random(seed)
    stage = drawn_stage(rng, agent)
    moves = rng.choice((0.02, 0.1, 0.2))
    for _ in range(steps):
        choice = rng.random()
        idle, busy, outside = stage.idle(), stage.busy(), stage.outside()
        members = [node for node in stage.agents if stage.is_staying(node)]
        if choice < 0.15 and idle:
            stage.request(rng.choice(idle))
        elif choice < 0.3 and stage.inside:
            stage.release(rng.choice(sorted(stage.inside)))
        elif choice < 0.35 and stage.timers:
            stage.run_out(*rng.choice(sorted(stage.timers)))
        elif choice < 0.35 + moves / 2 and members:
            stage.leave(rng.choice(members))
        elif choice < 0.35 + moves and outside:
            stage.join(rng.choice(outside), rng.randrange(len(stage.places)))
        elif busy:
            move_on(stage, rng, busy, losses)
        stage.check()
    settle(stage, rng)
    return stage


def move_on(stage: KLMEStage, rng: Random, busy: list[tuple[int, int]], losses: float) -> None:
    """Deliver a message, or lose it if it is a Token and luck has it so."""
    ends = rng.choice(busy)
    is_lost = isinstance(stage.channels[ends][0], Token) and rng.random() < losses
    (stage.lose if is_lost else stage.deliver)(*ends)


def settle(stage: KLMEStage, rng: Random) -> None:
    """All nodes arrive and none leaves any more: deliver, release and run timers until nothing is pending."""
    for _ in range(SETTLE_STEPS):
        inside, busy, timers, outside = sorted(stage.inside), stage.busy(), sorted(stage.timers), stage.outside()
        if outside and (not busy or rng.random() < 0.1):
            stage.join(rng.choice(outside), rng.randrange(len(stage.places)))
        elif inside and (not busy or rng.random() < 0.15):
            stage.release(rng.choice(inside))
        elif busy and (not timers or rng.random() < 0.95):
            stage.deliver(*rng.choice(busy))
        elif timers:
            stage.run_out(*rng.choice(timers))
        else:
            break
        stage.check()
    assert not stage.asking, stage.told(f"these wait: {sorted(stage.asking)}")
    assert all(stage.agents[node].status is REMAINDER for node in stage.agents)
    stage.check_at_rest()
