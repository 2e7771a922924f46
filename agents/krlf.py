"""KRLF, KRL with token forwarding: a token that is not asked for is passed on, and meets nodes that wait elsewhere.

J. E. Walter, G. Cao, M. Mohanty: A K-Mutual Exclusion Algorithm for Wireless Ad Hoc Networks. POMC 2001, section 4.4
and "Pseudocode for KRL with token forwarding" in its appendix, whose line numbers the comments cite. What is not here
is as in `agents.krl`. A token that has been used never rests, except with a node that has no neighbours, so messages
are sent even when no node asks. `agents.krlf_adaptive` has tokens that rest after a number of hops.

Which of the neighbours that are not visited yet gets the token is a parameter, `forward_to`, because the paper argues
for its choice: the lowest neighbour, which has the fewest links to reverse (section 4.4).

Deviations from the printed pseudocode, besides those of `agents.krl`:

1. Lines 4-5 of release are missing in print, and are taken to be lines 3-4 of KRL's.
2. A node without neighbours keeps its token until a node uses it.
3. Line 3 of PickLowest is garbled, and is taken to mean the lowest of the neighbours not visited yet, as section 4.4
   says.
4. A token in use by the node's own critical section is not forwarded when another arrives.

Where the paper contradicts itself, the printed lines are taken:

- Section 4.4 marks a link as visited when a token is forwarded or received "when their request queue is empty". Line 1
  of Token marks the sender always, also if a request waits for the token; line 4 of PickLowest marks the receiver of a
  token that is forwarded; and no line marks the receiver of a token that was asked for.
- Section 2 requires "a different neighbor than the one it last sent the token to when possible". After a reset of
  `visited` the printed lines choose the lowest neighbour, which may be that one; and a token that was asked for marks
  no receiver, so the next idle token may follow it. `forward_to: other` does what section 2 requires.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, Self

from agents.contract import CRITICAL, REMAINDER
from agents.heights import Height, lowest
from agents.krl import Initial, KParameters, KReverseLink
from agents.message import Message
from agents.rl import Token


@dataclass(frozen=True)
class ForwardingParameters(KParameters):
    """`forward_to`: which of the neighbours not visited yet gets an idle token.

    `lowest` is the printed rule. `other` is the lowest that is not the one to which the node last sent a token, if it
    has another neighbour (section 2). `random` and `highest` are for comparison.
    """

    forward_to: Literal["lowest", "other", "random", "highest"] = field(default="lowest", kw_only=True)


PRINTED = ForwardingParameters()


class KReverseLinkForwarding(KReverseLink):
    """The mutual exclusion process of node i."""

    never_rests = True
    parameters = ForwardingParameters
    summary = "k tokens by link reversal, idle tokens forwarded (Walter, Cao, Mohanty 2001)"

    def __init__(
        self, node: int, initial: Initial, parameters: ForwardingParameters = PRINTED, rng: Random | None = None
    ) -> None:
        super().__init__(node, initial, parameters)
        self.visited: set[int] = set()  # the j with visited[j] true
        self.forward_to = parameters.forward_to
        self.rng = rng if parameters.forward_to == "random" else None
        self.last_receiver: int | None = None  # of a token

    @classmethod
    def start(cls, node: int, initial: Initial, parameters: Any, rng: Random) -> Self:
        """Only `forward_to: random` draws from the node's own generator."""
        return cls(node, initial, parameters, rng)

    def on_release(self) -> None:
        """When node i releases the CS."""
        self.require(CRITICAL, "release")
        if self.queue:  # l. 1
            self.give_token_to_next()
        else:
            self.forward_token()  # l. 3
        self.status = REMAINDER  # l. 6
        self.lower_if_highest()

    def on_token(self, j: int, message: Token) -> None:
        """When Token(h) received at node i from node j."""
        if j not in self.height and j not in self.forming:  # as in KRL, before anything changes
            raise self.refuse(j, message)
        self.visited.add(j)  # l. 1
        super().on_token(j, message)  # l. 2-10
        if not self.queue and self.idle_tokens():  # l. 11
            self.forward_token()  # l. 12

    def on_return(self, peer: int, message: Message) -> None:
        """A token that comes back is forwarded, if no request waits here."""
        super().on_return(peer, message)
        if message.units and not self.queue and self.idle_tokens():
            self.forward_token()

    def on_link_up(self, peer: int) -> None:
        """When formation of link to j detected at node i."""
        super().on_link_up(peer)  # l. 1-3
        self.visited.discard(peer)  # l. 4

    def idle_tokens(self) -> int:
        """Tokens that are not in use by the node's own critical section."""
        return self.token_count - (self.status is CRITICAL)

    def forward_token(self) -> None:
        """Procedure PickLowest&ForwardToken()."""
        head = self.pick_lowest()  # l. 1-4
        if head is not None:
            self.send_token(head, self.token())  # l. 5-10

    def pick_lowest(self) -> int | None:
        """Lines 1-4: the lowest neighbour not visited yet, or as `forward_to` says; None without neighbours."""
        candidates = self.candidates()
        if not candidates:
            return None
        fresh = {k: height for k, height in candidates.items() if k not in self.visited}
        if not fresh:  # l. 1
            self.visited.clear()  # l. 2
            fresh = candidates
        head = self.chosen(fresh)  # l. 3
        self.visited.add(head)  # l. 4
        return head

    def candidates(self) -> dict[int, Height]:
        """The neighbours that may get an idle token."""
        if self.forward_to != "other":
            return self.height
        return {k: height for k, height in self.height.items() if k != self.last_receiver} or self.height

    def chosen(self, heights: Mapping[int, Height]) -> int:
        """One of these neighbours, by `forward_to`."""
        if self.forward_to == "random":
            assert self.rng is not None, "start gives it one"
            return self.rng.choice(sorted(heights))
        return max(heights.values())[2] if self.forward_to == "highest" else lowest(heights)

    def send_token(self, head: int, token: Message) -> None:
        """As KRL, noting the receiver."""
        super().send_token(head, token)
        self.last_receiver = head
