"""The place of a neighbourhood: who is there, and the token while no node is.

The place numbers the visits. It takes a token from its last member only, in one step with that member's departure, so
that no node can arrive in between.
"""

from __future__ import annotations

from agents.groups import Member
from agents.message import Message


class PlaceRegister:
    """Who is in one neighbourhood."""

    def __init__(self, capacity: int, members: tuple[Member, ...] = (), deposit: Message | None = None) -> None:
        self.capacity = capacity
        self.visits: dict[int, int] = {one.node: one.visit for one in members}  # of the nodes that are here
        self.deposit = deposit
        self._next_visit = 1 + max(self.visits.values(), default=-1)

    def arrive(self, node: int) -> tuple[int, tuple[Member, ...], Message | None]:
        """A node arrives: the number of its visit, the others that are here, and the token if it lies here."""
        self.visits.pop(node, None)  # an earlier visit that ended unnoticed
        others, deposit = self.members(), self.deposit
        visit = self.visits[node] = self._next_visit
        self._next_visit += 1
        self.deposit = None
        return visit, others, deposit

    def leave(self, node: int, visit: int) -> None:
        """A visit is over."""
        if self.visits.get(node) == visit:
            del self.visits[node]

    def put_down(self, node: int, visit: int, message: Message) -> bool:
        """A node leaves and puts a token down; False if another node is here, so that it must stay."""
        if self.visits != {node: visit}:
            return False
        self.visits.clear()
        self.deposit = message
        return True

    def members(self) -> tuple[Member, ...]:
        """The nodes that are here, by node."""
        return tuple(Member(node, visit) for node, visit in sorted(self.visits.items()))
