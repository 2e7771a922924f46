"""RL on SimPy, written as SimPy's manual suggests: the testbed's own simulator is compared with it.

The same agents, graph and random streams as in the testbed, and no checks. Every node has an inbox, a process that
takes messages out of it, and a process for its application. Every message is a process that waits for the hop delay
and puts it into the receiver's inbox, which is how SimPy's manual models latency (examples, "Event Latency").
`CallbackNetwork` uses callbacks instead of those processes, which is faster.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from agents.contract import TICKS, Agent
from agents.message import Message
from agents.outputs import ENTER, SEND
from testbed.backends.repetition import Repetition
from testbed.randomness import Streams
from testbed.runtime.application import Application
from testbed.scenario.schema import Scenario

Process = Generator[simpy.Event, Any, None]


class Network:
    """All nodes and their counts; ends when the entries asked for have been made and no request is pending."""

    def __init__(self, scenario: Scenario, streams: Streams) -> None:
        self.env = simpy.Environment()
        self.hop = scenario.delays.hop.sampler(streams.of("delay"))
        self.inputs = self.messages = self.pending = 0
        self.waits: list[float] = []
        self.served = self.env.event()
        assert scenario.entries is not None, "the comparison is as long as its entries"
        self._enough_entries = scenario.entries
        repetition = Repetition(scenario, streams)
        self.nodes = [
            Node(self, repetition.agent(node), Application(node, scenario.workload.load(), streams))
            for node in range(scenario.nodes)
        ]

    @property
    def stopping(self) -> bool:
        """Whether no more requests may be made."""
        return len(self.waits) >= self._enough_entries

    def run(self) -> None:
        """Run until all requests are served."""
        self.env.run(until=self.served)

    def send(self, source: int, target: int, message: Message) -> None:
        """Send a message."""
        self.messages += 1
        self.env.process(self.latency(source, target, message))

    def latency(self, source: int, target: int, message: Message) -> Process:
        """The process of one message: it arrives after the hop delay."""
        yield self.env.timeout(self.hop())
        self.nodes[target].inbox.put((source, message))

    def results(self) -> dict[str, float]:
        """The metrics to compare with the testbed's."""
        entries = len(self.waits)
        return {
            "messages_per_cs": self.messages / entries,
            "waiting_time": sum(self.waits) / entries / TICKS,
        }


class CallbackNetwork(Network):
    """The same without processes for messages: a message is a timeout whose callback fills the inbox."""

    def send(self, source: int, target: int, message: Message) -> None:
        """Send a message."""
        self.messages += 1
        inbox = self.nodes[target].inbox

        def arrive(event: simpy.Event) -> None:
            inbox.put(event.value)

        self.env.timeout(self.hop(), (source, message)).callbacks.append(arrive)


class Node:
    """One node: its agent, its inbox, and the two processes that work on them."""

    def __init__(self, network: Network, agent: Agent, application: Application) -> None:
        self.network = network
        self.env = network.env
        self.agent = agent
        self.application = application
        self.inbox = simpy.Store(self.env)
        self.admitted = self.env.event()
        self.env.process(self.receive())
        self.env.process(self.use())

    def receive(self) -> Process:
        """Give the agent one message after another."""
        while True:
            source, message = yield self.inbox.get()
            self.network.inputs += 1
            self.agent.on_receive(source, message)
            self.carry_out()

    def use(self) -> Process:
        """The application: think, ask, wait, stay in the critical section, leave."""
        network, env, application = self.network, self.env, self.application
        while True:
            yield env.timeout(application.think_time())
            if network.stopping:
                return
            asked = env.now
            network.pending += 1
            network.inputs += 1
            self.admitted = env.event()
            self.agent.on_request(application.demand)
            self.carry_out()
            yield self.admitted
            network.waits.append(env.now - asked)
            yield env.timeout(application.cs_time())
            network.pending -= 1
            network.inputs += 1
            self.agent.on_release()
            self.carry_out()
            if network.stopping:
                if not network.pending:
                    network.served.succeed()
                return

    def carry_out(self) -> None:
        """Carry out the outputs of the agent."""
        for op, peers, message in self.agent.outbox:
            if op is SEND:
                for peer in peers:
                    self.network.send(self.agent.node, peer, message)
            elif op is ENTER:
                self.admitted.succeed()
        self.agent.outbox.clear()
