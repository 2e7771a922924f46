"""hk-fifo, the h-out of-k mutual exclusion algorithm without priorities.

J.-R. Jiang: A Distributed h-out of-k Mutual Exclusion Algorithm for Ad Hoc Mobile Networks. 2nd International Workshop
on Parallel and Distributed Computing Issues in Wireless Networks and Mobile Computing, 2002.

As `agents.hk`, but queues are in order of arrival: a REQUEST carries no priority, and there is no UPDATE and no aging.
The node in front holds the token until its units are free, and so blocks smaller demands behind it: the drawback for
which the prioritized algorithm was made. Assumes what `agents.hk` assumes.

Deviations: the original text could not be found. This is a reconstruction from the paper of the prioritized algorithm:
that one without its priorities, and with its deviations 1, 3, 5 and 7. LINK goes to all neighbours here as well, so
that the two differ in priorities alone.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from agents import h_out_of_k
from agents.contract import Demand
from agents.h_out_of_k import Initial, Link, Priority, Release, UnitParameters
from agents.heights import Height
from agents.hk import PrioritizedHOutOfK, PriorityParameters
from agents.message import Message
from agents.partition_detection import DETECTION, DETECTION_HANDLERS


@dataclass(frozen=True, slots=True)
class Token(h_out_of_k.Token):
    """TOKEN(t): it counts no entries and carries no request."""

    entries: ClassVar[int] = 0
    follow: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class Request(Message):
    """REQUEST(i): asks the receiver for the token on behalf of the sender. All are equally urgent."""

    priority: ClassVar[Priority] = (0, 0)
    height: Height


DEFAULTS = UnitParameters()


class HOutOfK(PrioritizedHOutOfK):
    """The mutual exclusion process of node i: with equal priorities, a queue is in order of arrival."""

    messages: ClassVar[tuple[type[Message], ...]] = (Token, Request, Release, Link, *DETECTION)
    handlers: ClassVar = {
        Token: "on_token",
        Request: "on_request_message",
        Release: "on_release_message",
        Link: "on_link",
        **DETECTION_HANDLERS,
    }
    parameters = UnitParameters
    is_reconstruction = True
    summary = "h of k units by link reversal, in order of arrival (reconstruction of Jiang 2002)"

    def __init__(self, node: int, initial: Initial, parameters: UnitParameters = DEFAULTS) -> None:
        shared = {field.name: getattr(parameters, field.name) for field in fields(UnitParameters)}
        super().__init__(node, initial, PriorityParameters(**shared, aging="none", ties="arrival"))

    @classmethod
    def promises_bound(cls, parameters: Any) -> bool:
        """Queues in order of arrival starve no request."""
        return True

    @classmethod
    def uses_priorities(cls, parameters: Any) -> bool:
        """All requests are equally urgent."""
        return False

    def on_request(self, demand: Demand) -> None:
        """Requesting h copies of resources."""
        super().on_request(Demand(demand.units))

    def count_entries(self, entries: int) -> None:
        """No request ages."""

    def token(self, free: int, follow: Priority | None) -> Message:
        """TOKEN(t)."""
        return Token(self.my_height, free)

    def request(self) -> Message:
        """REQUEST(i)."""
        return Request(self.my_height)
