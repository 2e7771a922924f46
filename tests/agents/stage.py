"""A stage: agents on links that the test itself works. Nothing moves unless it is told to.

A message sent waits in its channel until the test delivers it; a link falls only when both its channels are empty, as
the papers assume. Everything that happens is written to `script`, for golden transcripts.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import astuple
from random import Random

from agents.contract import ONE_UNIT, Agent, Status
from agents.message import Message
from agents.outputs import Enter, Output, Send


class Stage:
    """Agents, the links between them, and what is in transit."""

    def __init__(self, agents: Iterable[Agent], links: Iterable[tuple[int, int]]) -> None:
        self.agents = {agent.node: agent for agent in agents}
        self.channels: dict[tuple[int, int], deque[Message]] = {}
        for a, b in links:
            self._connect(a, b)
        self.script: list[str] = []
        self.inside: set[int] = set()
        self.entries = 0

    # -- what a test does --------------------------------------------------------------------------------------------

    def request(self, node: int) -> None:
        self._step(node, "RequestCS", lambda agent: agent.on_request(ONE_UNIT))

    def release(self, node: int) -> None:
        self.inside.remove(node)
        self._step(node, "ReleaseCS", lambda agent: agent.on_release())

    def deliver(self, source: int, target: int) -> None:
        message = self.channels[source, target].popleft()
        self._step(target, f"Recv {shown(message)} from {source}", lambda agent: agent.on_receive(source, message))

    def link_down(self, a: int, b: int) -> None:
        assert self.is_idle(a, b), "the papers let no link fail with messages in transit"
        del self.channels[a, b], self.channels[b, a]
        for node, peer in ((a, b), (b, a)):
            self._step(node, f"LinkDown {peer}", lambda agent, peer=peer: agent.on_link_down(peer))

    def link_break(self, a: int, b: int) -> None:
        """A link fails as radios do, with messages in transit, which come back to who sent them."""
        undelivered = [(a, b, self.channels.pop((a, b))), (b, a, self.channels.pop((b, a)))]
        for node, peer in ((a, b), (b, a)):
            self._step(node, f"LinkDown {peer}", lambda agent, peer=peer: agent.on_link_down(peer))
        for node, peer, messages in undelivered:
            for message in messages:
                what = f"Return {shown(message)} to {peer}"
                self._step(node, what, lambda agent, peer=peer, message=message: agent.on_return(peer, message))

    def link_up(self, a: int, b: int) -> None:
        self._connect(a, b)
        for node, peer in ((a, b), (b, a)):
            self._step(node, f"LinkUp {peer}", lambda agent, peer=peer: agent.on_link_up(peer))

    def deliver_all(self, rng: Random | None = None, limit: int = 100_000) -> None:
        """Deliver until nothing is in transit, in order of channels or at random."""
        for _ in range(limit):
            busy = self.busy()
            if not busy:
                return
            self.deliver(*(rng.choice(busy) if rng else busy[0]))
        raise AssertionError(f"messages are still in transit after {limit} deliveries")

    def note(self, text: str) -> None:
        """A heading in the script."""
        self.script.append(f"-- {text}")

    # -- what a test asks --------------------------------------------------------------------------------------------

    def busy(self) -> list[tuple[int, int]]:
        return sorted(ends for ends, messages in self.channels.items() if messages)

    def links(self) -> list[tuple[int, int]]:
        return sorted(ends for ends in self.channels if ends[0] < ends[1])

    def is_idle(self, a: int, b: int) -> bool:
        return not self.channels[a, b] and not self.channels[b, a]

    def waiting(self) -> list[int]:
        return [node for node, agent in self.agents.items() if agent.status is Status.WAITING]

    def units(self) -> int:
        """All tokens: held and in transit."""
        held = sum(agent.units for agent in self.agents.values())
        return held + sum(message.units for messages in self.channels.values() for message in messages)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _connect(self, a: int, b: int) -> None:
        self.channels[a, b], self.channels[b, a] = deque(), deque()

    def _step(self, node: int, what: str, event) -> None:
        agent = self.agents[node]
        self.script.append(f"{node}: {what}")
        event(agent)
        for output in agent.take_outputs():
            self._carry_out(node, output)

    def _carry_out(self, node: int, output: Output) -> None:
        if isinstance(output, Send):
            self.script.append(f"     Send {shown(output.message)} to {output.peer}")
            self.channels[node, output.peer].append(output.message)
        elif isinstance(output, Enter):
            self.script.append("     EnterCS")
            self.inside.add(node)
            self.entries += 1
        else:
            raise AssertionError(f"the stage cannot {output}")


def shown(message: Message) -> str:
    """A message as the papers write it."""
    return f"{type(message).__name__}{''.join(map(str, astuple(message)))}".replace(" ", "")
