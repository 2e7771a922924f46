"""The account of a process's units: what its nodes hold by the messages that they have sent and received.

Where every message is looked at (on stations, and with `trace: events`), an agent is asked after every step whether it
agrees. Elsewhere, for speed, the simulator asks all agents now and then (`BatchedListener.compare`), and a repetition
that fails is run again to find the step.
"""

from __future__ import annotations

from typing import Any

from agents.contract import Agent, Shares
from analysis.batched import BatchedListener
from testbed.runtime.breach import RAISED, called, held


class UnitAccount:
    """What every node holds; nothing is kept up to date where agents are not asked."""

    def __init__(self, agents: dict[int, Agent], listener: BatchedListener) -> None:
        algorithm = type(next(iter(agents.values())))
        counts_units = algorithm.shares is Shares.TOKENS or algorithm.units is not Agent.units
        self.is_exact = counts_units and listener.each_message
        """Whether agents are asked after every step."""
        self._listener = listener
        self._tokens_apart = algorithm.tokens is not Agent.tokens
        self._units, self._tokens = dict.fromkeys(agents, 0), dict.fromkeys(agents, 0)
        for node, agent in agents.items():
            self._units[node], self._tokens[node] = held(agent, node, event="start")

    def gain(self, node: int, units: int, tokens: int) -> None:
        """By a message, a node holds so many more; one that sends, fewer."""
        self._units[node] += units
        self._tokens[node] += tokens

    def clear(self, node: int) -> None:
        """A node holds nothing: it has crashed, come back, or left its neighbourhood."""
        self._units[node] = self._tokens[node] = 0

    def recount(self, t: int, agent: Agent, node: int, event: str, *args: Any) -> None:
        """After a step: report it if an agent holds another amount than by its messages. What it says then counts."""
        units = self._units[node]
        tokens = self._tokens[node] if self._tokens_apart else units
        try:
            said = agent.units
            agrees = said == units and type(said) is int and (not self._tokens_apart or agent.tokens == tokens)
        except RAISED:
            agrees = False  # which is reported with the event
        if not agrees:
            what = called(event, *args)
            self._units[node], self._tokens[node] = says = held(agent, node, t=t, event=what)
            self._listener.miscount(t, node, units, tokens, *says, what)
