"""KRLF, KRL with token forwarding: a token that is not asked for is passed on, and meets nodes that wait elsewhere.

J. E. Walter, G. Cao, M. Mohanty: A K-Mutual Exclusion Algorithm for Wireless Ad Hoc Networks. POMC 2001, section 4.4
and "Pseudocode for KRL with token forwarding" in its appendix, whose line numbers the comments cite. What is not here
is as in `agents.krl`. A token that has been used never rests, except with a node that has no neighbours, so messages
are sent even when no node asks.

Deviations from the printed pseudocode, besides those of `agents.krl`: lines 4-5 of release are missing in print, and
are taken to be lines 3-4 of KRL's; a node without neighbours keeps its token until a node uses it; line 3 of
PickLowest is garbled, and is taken to mean the lowest of the neighbours not visited yet, as section 4.4 says; a token
in use by the node's own critical section is not forwarded when another arrives.
"""

from __future__ import annotations

from agents.contract import CRITICAL, REMAINDER
from agents.heights import lowest
from agents.krl import Initial, KReverseLink
from agents.message import Message
from agents.partition_detection import UNDETECTED, DetectingParameters
from agents.rl import Token


class KReverseLinkForwarding(KReverseLink):
    """The mutual exclusion process of node i."""

    never_rests = True
    summary = "k tokens by link reversal, idle tokens forwarded (Walter, Cao, Mohanty 2001)"

    def __init__(self, node: int, initial: Initial, parameters: DetectingParameters = UNDETECTED) -> None:
        super().__init__(node, initial, parameters)
        self.visited: set[int] = set()  # the j with visited[j] true

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
        """Lines 1-4: the lowest neighbour not visited yet; None for a node without neighbours."""
        if not self.height:
            return None
        fresh = {k: height for k, height in self.height.items() if k not in self.visited}
        if not fresh:  # l. 1
            self.visited.clear()  # l. 2
            fresh = self.height
        head = lowest(fresh)  # l. 3
        self.visited.add(head)  # l. 4
        return head
