"""RL on SimPy, as one would write it there: the yardstick for the testbed's own simulator.

The same agents, graph and random streams as in the testbed, and no checks. Every node has an inbox, a process that
takes messages out of it, and a process for its application; every message is a process that waits for the hop delay
and puts it into the receiver's inbox, which is how SimPy's manual models latency (examples, "Event Latency").
`CallbackNetwork` does without those processes, for whoever would have written it so.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

from agents.contract import ENTER, SEND, Agent
from agents.message import Message
from analysis.events import TICKS
from testbed.runtime.initial_state import Beginning
from testbed.scenario.schema import Scenario
from testbed.randomness import Streams
from testbed.runtime.application import Application

Process = Generator[simpy.Event, Any, None]


class Network:
    """All nodes and what is counted over them; ends when as many entries as asked for are made and all are served."""

    def __init__(self, scenario: Scenario, streams: Streams) -> None:
        self.env = simpy.Environment()
        self.hop = scenario.delays.hop.sampler(streams.of("delay"))
        self.inputs = self.messages = self.open = 0
        self.waits: list[float] = []
        self.served = self.env.event()
        assert scenario.entries is not None, "the comparison is as long as its entries"
        self._enough_entries = scenario.entries
        beginning = Beginning(scenario, streams)
        self.nodes = [
            Node(self, beginning.agent(node), Application(node, scenario.workload, streams))
            for node in range(scenario.nodes)
        ]

    @property
    def stopping(self) -> bool:
        """Whether nobody may ask any more."""
        return len(self.waits) >= self._enough_entries

    def run(self) -> None:
        """Let everything happen."""
        self.env.run(until=self.served)

    def send(self, source: int, target: int, message: Message) -> None:
        """Put a message on its way."""
        self.messages += 1
        self.env.process(self.latency(source, target, message))

    def latency(self, source: int, target: int, message: Message) -> Process:
        """The process of one message: it takes its time and is there."""
        yield self.env.timeout(self.hop())
        self.nodes[target].inbox.put((source, message))

    def results(self) -> dict[str, float]:
        """What is to be compared with the testbed."""
        entries = len(self.waits)
        return {
            "messages_per_cs": self.messages / entries,
            "waiting_time": sum(self.waits) / entries / TICKS,
        }


class CallbackNetwork(Network):
    """The same with less of SimPy: a message is a timeout whose callback fills the inbox."""

    def send(self, source: int, target: int, message: Message) -> None:
        """Put a message on its way."""
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
            network.open += 1
            network.inputs += 1
            self.admitted = env.event()
            self.agent.on_request(application.demand)
            self.carry_out()
            yield self.admitted
            network.waits.append(env.now - asked)
            yield env.timeout(application.cs_time())
            network.open -= 1
            network.inputs += 1
            self.agent.on_release()
            self.carry_out()
            if network.stopping:
                if not network.open:
                    network.served.succeed()
                return

    def carry_out(self) -> None:
        """Do what the agent asks for."""
        for op, peers, message in self.agent.outbox:
            if op is SEND:
                for peer in peers:
                    self.network.send(self.agent.node, peer, message)
            elif op is ENTER:
                self.admitted.succeed()
        self.agent.outbox.clear()
