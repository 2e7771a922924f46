"""KRLF-adaptive: idle tokens are forwarded as many hops as the load that a node perceives is worth.

J. E. Walter, G. Cao, M. Mohanty: A K-Mutual Exclusion Algorithm for Wireless Ad Hoc Networks. POMC 2001, section 7:
"heuristic modifications to the token forwarding strategy, in which a processor adjusts the number of hops a token is
forwarded based on its view of the load on the system. In this scheme, if a processor perceives that there is a low load
on the system, it will not forward the token." The paper says no more; what follows is ours.

A node perceives the load without a clock: whenever a token becomes free here, by a release or because one that was
forwarded arrives, it notes whether a request was waiting for it. The share of yes among its last `window` notes is its
view of the load. A token that comes free after a release, with no request waiting, is forwarded for that share of
`max_hops` hops, and rests where they end, as KRL's tokens do; with no hops at all it stays. A node that receives it
with hops left and no request waiting forwards it, and counts the hops down.

With `hops` the number of hops is fixed, and the load makes no difference: KRLF whose tokens rest, as a comparison.

Deviations: those of `agents.krl` and `agents.krlf`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from agents import rl
from agents.contract import CRITICAL, REMAINDER
from agents.krl import Initial, KReverseLink
from agents.krlf import ForwardingParameters, KReverseLinkForwarding
from agents.message import Message
from agents.partition_detection import DETECTION, DETECTION_HANDLERS
from agents.rl import LinkInfo, Request


@dataclass(frozen=True, slots=True)
class Token(rl.Token):
    """The privilege to enter the critical section, and how many hops it still goes if no node wants it.

    `hops` counts the hop to the receiver, so it is 0 for a token that was asked for.
    """

    hops: int


@dataclass(frozen=True)
class AdaptiveParameters(ForwardingParameters):
    """`window`: how many notes make the view of the load. `max_hops`: how far a token goes when all say yes.

    `hops`: how far every token goes, whatever the load; None for as far as the load is worth.
    """

    window: int = 8
    max_hops: int = 8
    hops: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window < 1:
            raise ValueError("window at least 1")
        if self.max_hops < 0:
            raise ValueError("max_hops at least 0")
        if self.hops is not None and self.hops < 0:
            raise ValueError("hops at least 0")


DEFAULTS = AdaptiveParameters()


class KReverseLinkAdaptive(KReverseLinkForwarding):
    """The mutual exclusion process of node i."""

    messages = (Request, Token, LinkInfo, *DETECTION)
    handlers: ClassVar = {
        Request: "on_request_message",
        Token: "on_token",
        LinkInfo: "on_link_info",
        **DETECTION_HANDLERS,
    }
    parameters = AdaptiveParameters
    never_rests = False
    summary = "k tokens by link reversal, idle tokens forwarded as far as the load is worth (after the same, section 7)"

    def __init__(
        self, node: int, initial: Initial, parameters: AdaptiveParameters = DEFAULTS, rng: Random | None = None
    ) -> None:
        super().__init__(node, initial, parameters, rng)
        self.window = parameters.window
        self.max_hops = parameters.max_hops
        self.hops = parameters.hops
        self.notes: list[bool] = []  # whether a request was waiting when a token came free, the latest last

    def on_release(self) -> None:
        """When node i releases the CS: as KRLF, with a number of hops."""
        self.require(CRITICAL, "release")
        self.note_load()
        if self.queue:  # l. 1
            self.give_token_to_next()
        else:
            self.forward_for(self.worthwhile_hops())  # l. 3
        self.status = REMAINDER  # l. 6
        self.lower_if_highest()

    def on_token(self, j: int, message: rl.Token) -> None:
        """When Token(h, hops) received at node i from node j: as KRLF, counting the hops down."""
        assert isinstance(message, Token), "this algorithm has no other"
        if j not in self.height and j not in self.forming:  # before the load is noted: a refused event changes nothing
            raise self.refuse(j, message)
        if message.hops:
            self.note_load()
        hops = 0 if self.queue else message.hops - 1  # a token that is wanted here goes no further
        self.visited.add(j)  # l. 1
        KReverseLink.on_token(self, j, message)  # l. 2-10
        if not self.queue and self.idle_tokens():  # l. 11
            self.forward_for(hops)  # l. 12

    def on_return(self, peer: int, message: Message) -> None:
        """A token that comes back rests, if no request waits here."""
        KReverseLink.on_return(self, peer, message)

    def forward_for(self, hops: int) -> None:
        """Forward a token for so many hops; with none left it rests here."""
        if hops > 0 and (head := self.pick_lowest()) is not None:
            self.send_token(head, Token(self.my_height, hops))

    def token(self) -> Message:
        """A token that was asked for goes no further."""
        return Token(self.my_height, 0)

    def note_load(self) -> None:
        """A token comes free: note whether a request waits for it."""
        self.notes = [*self.notes, bool(self.queue)][-self.window :]

    def worthwhile_hops(self) -> int:
        """The share of yes among the last notes, of `max_hops`, or `hops`. Only asked for after a note."""
        if self.hops is not None:
            return self.hops
        return round(self.max_hops * sum(self.notes) / len(self.notes))
