"""The messages of KLME (section 3.3 and section 7 of its paper).

A request is (node, number). Numbers of one node grow for as long as the run lasts: the visit comes first in them, so
that a request of an earlier visit is never taken for one of a later visit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agents.groups import GroupMessage, Member
from agents.message import added

Request = tuple[int, int]
"""A node, and the number of its request."""

REQUESTS_PER_VISIT = 10**6


def first_number(visit: int) -> int:
    """The number before that of the first request of a visit."""
    return visit * REQUESTS_PER_VISIT


def visit_of(number: int) -> int:
    """The visit in which a request was made."""
    return number // REQUESTS_PER_VISIT


def maker(request: Request) -> Member:
    """The node that made a request, in the visit in which it made it."""
    return Member(request[0], visit_of(request[1]))


@dataclass(frozen=True, slots=True)
class LeaderInfo(GroupMessage):
    """Leader_info(i, T_alloc_id, Token_leader_no): node i is the leader, and has this list of allocations."""

    leader: int
    alloc: tuple[Request, ...]
    number: int
    leader_visit: int = added()
    attempt: int = added()
    """Of the Token to the leader that this message follows."""


@dataclass(frozen=True, slots=True)
class IAmHere(GroupMessage):
    """I_am_here(i, state): the sender has arrived; `request` is the number of its request if it waits, else 0."""

    request: int


@dataclass(frozen=True, slots=True)
class ReqCS(GroupMessage):
    """Req_CS(i, RN): to the leader."""

    node: int
    number: int


@dataclass(frozen=True, slots=True)
class Token(GroupMessage):
    """Token(i, T_alloc_id, T_req_list, Kfree, R_Queue): its receiver becomes the leader."""

    tokens: ClassVar[int] = 1
    alloc: tuple[Request, ...]
    requests: tuple[Request, ...]
    free: int
    queue: tuple[Request, ...]
    number: int = added()
    attempt: int = added()
    """How often this transfer had to be repeated because the Token was lost."""

    @property
    def units(self) -> int:  # type: ignore[override]
        """All units of the neighbourhood, free and allocated."""
        return self.free + len(self.alloc)


@dataclass(frozen=True, slots=True)
class ReqAck(GroupMessage):
    """Req_ack(): the leader has the request."""

    number: int = added()


@dataclass(frozen=True, slots=True)
class PerGrant(GroupMessage):
    """Per_grant(): the leader permits to enter the CS."""

    number: int = added()
    leader_number: int = added()
    """So that the Release goes to this leader or a later one, even if Leader_info is still on its way."""


@dataclass(frozen=True, slots=True)
class Release(GroupMessage):
    """Release(i, RN): to the leader, after the CS."""

    node: int
    number: int


@dataclass(frozen=True, slots=True)
class IAmLeaving(GroupMessage):
    """I_am_leaving(i): the sender leaves; the lists that the paper sends along are left out (deviation 6)."""


@dataclass(frozen=True, slots=True)
class TokenAck(GroupMessage):
    """Token_ack (section 7): the Token with this leader number has arrived."""

    number: int


@dataclass(frozen=True, slots=True)
class TokenLost(GroupMessage):
    """Token_lost (section 7): Leader_info has arrived, and the Token before it has not."""

    number: int
    attempt: int = added()
