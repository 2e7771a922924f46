"""KRLF-adaptive: idle tokens are forwarded as many hops as the load that a node perceives is worth.

J. E. Walter, G. Cao, M. Mohanty: A K-Mutual Exclusion Algorithm for Wireless Ad Hoc Networks. POMC 2001, section 7:
"heuristic modifications to the token forwarding strategy, in which a processor adjusts the number of hops a token is
forwarded based on its view of the load on the system. In this scheme, if a processor perceives that there is a low load
on the system, it will not forward the token." The paper says no more; what follows is ours.

A node perceives the load without a clock: whenever a token becomes free here, by a release or because one that was
forwarded arrives, it notes whether anybody was waiting for it. The share of its last `window` notes is its view of the
load. A token that comes free after a release, with nobody waiting, is sent on for that share of `max_hops` hops, and
rests where they end, as KRL's tokens do; with no hops at all it stays. Whoever receives it with hops left and nobody
waiting sends it on, and counts them down.

Deviations: those of `agents.krl` and `agents.krlf`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agents import rl
from agents.contract import CRITICAL
from agents.krl import Initial, KParameters
from agents.krlf import KReverseLinkForwarding
from agents.message import Message
from agents.rl import LinkInfo, Request


@dataclass(frozen=True, slots=True)
class Token(rl.Token):
    """The privilege to enter the critical section, and how many hops it still goes if nobody wants it.

    `hops` counts the hop to the receiver, so it is 0 for a token that was asked for.
    """

    hops: int


@dataclass(frozen=True)
class AdaptiveParameters(KParameters):
    """`window`: how many notes make the view of the load. `max_hops`: how far a token goes when all say yes."""

    window: int = 8
    max_hops: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window < 1:
            raise ValueError("window at least 1")
        if self.max_hops < 0:
            raise ValueError("max_hops at least 0")


DEFAULTS = AdaptiveParameters()


class KReverseLinkAdaptive(KReverseLinkForwarding):
    """The mutual exclusion process of node i."""

    messages = (Request, Token, LinkInfo)
    handlers: ClassVar = {Request: "on_request_message", Token: "on_token", LinkInfo: "on_link_info"}
    parameters = AdaptiveParameters
    never_rests = False
    summary = "k tokens by link reversal, idle tokens forwarded as far as the load is worth (after the same, section 7)"

    def __init__(self, node: int, initial: Initial, parameters: AdaptiveParameters = DEFAULTS) -> None:
        super().__init__(node, initial, parameters)
        self.window = parameters.window
        self.max_hops = parameters.max_hops
        self.notes: list[bool] = []  # whether somebody was waiting when a token came free, the latest last
        self.hops = 0  # how far the token at hand is to be forwarded if nobody wants it

    def on_release(self) -> None:
        """When node i releases the CS."""
        self.require(CRITICAL, "release")
        self.note_load()
        self.hops = self.worthwhile_hops()
        super().on_release()

    def on_token(self, j: int, message: rl.Token) -> None:
        """When Token(h, hops) received at node i from node j."""
        assert isinstance(message, Token), "this algorithm has no other"
        if message.hops:
            self.note_load()
        self.hops = message.hops - 1
        super().on_token(j, message)

    def on_return(self, peer: int, message: Message) -> None:
        """A token that comes back rests, if nobody here wants it."""
        self.hops = 0
        super().on_return(peer, message)

    def give_token_to_next(self) -> None:
        """A token that was asked for goes to who asked, and no further."""
        self.hops = 0
        super().give_token_to_next()

    def forward_token(self) -> None:
        """Forward a token if it has hops left; otherwise it rests here."""
        if self.hops > 0:
            super().forward_token()

    def token(self) -> Message:
        """A token says how far it goes."""
        return Token(self.my_height, self.hops)

    def note_load(self) -> None:
        """A token comes free: note whether anybody is waiting for it."""
        self.notes = [*self.notes, bool(self.queue)][-self.window :]

    def worthwhile_hops(self) -> int:
        """The share of yes among the last notes, of `max_hops`. Only asked for after a note."""
        return round(self.max_hops * sum(self.notes) / len(self.notes))
