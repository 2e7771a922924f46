"""What a node knows of the visits of others to its neighbourhood, for algorithms that run in neighbourhoods.

Visits are numbered by the place. So of the nodes that came before this one, it knows which were there when it came, and
all other visits with smaller numbers are over; those that came later announce themselves. That is enough to tell, of
every visit, whether it is known to go on, known to be over, or not heard of yet.
"""

from __future__ import annotations

from typing import Any

from agents.groups import TO_MEMBERS, GroupAgent, GroupMessage, Member


class VisitingAgent(GroupAgent):
    """An agent that keeps the visits of others."""

    present: dict[int, int]
    """The other members that are known, and their visits."""
    departed: dict[int, int]
    """The last visit of a node that is known to be over, of those since this node arrived."""

    def begin_visit(self, group: int, visit: int, members: tuple[Member, ...]) -> None:
        """Arrive in a group."""
        self.group, self.visit = group, visit
        self.present = {one.node: one.visit for one in members}
        self.departed = {}

    def end_visit(self) -> None:
        """Be in no group, and know nothing."""
        self.group = None
        self.present, self.departed = {}, {}

    def note_departure(self, member: Member) -> None:
        """A visit is over."""
        self.departed[member.node] = max(member.visit, self.departed.get(member.node, -1))
        if self.present.get(member.node) == member.visit:
            del self.present[member.node]

    def is_here(self, member: Member) -> bool:
        """Whether a visit is known to go on."""
        return self.present.get(member.node) == member.visit

    def is_gone(self, member: Member) -> bool:
        """Whether a visit is known to be over."""
        node, visit = member.node, member.visit
        if node == self.node:
            return visit != self.visit
        known = self.present.get(node)
        if known is None or known < visit:
            return visit < self.visit or visit <= self.departed.get(node, -1)
        return known > visit

    def tell(self, member: Member, kind: type[GroupMessage], *fields: Any) -> None:
        """Send a message to a node in one of its visits."""
        assert self.group is not None
        self.send(member.node, kind(self.group, self.visit, member.visit, *fields))

    def tell_members(self, kind: type[GroupMessage], *fields: Any) -> None:
        """Send a message to all members."""
        assert self.group is not None
        self.broadcast(kind(self.group, self.visit, TO_MEMBERS, *fields))
