"""The driver's fast bookkeeping: what it knows of each class of messages, and how many were sent.

A run is mostly messages, so the driver does not pass each to the checks: it counts them here. Most classes are `plain`:
all of their messages have one size and carry no units, and counting is all there is to do. The others are noted, or
looked at one by one if they are `watched`.
"""

from __future__ import annotations

from agents.contract import Agent
from agents.message import Message, fixed_added_words, fixed_words
from analysis.listener import Listener


class MessageClass:
    """What the driver knows of a class of messages, and how many of them were sent since the warmup."""

    __slots__ = (
        "added_words", "inspect_at", "name", "plain", "receive", "sent", "sent_added_words", "sent_tokens",
        "sent_words", "tokens", "units", "watched", "words",
    )  # fmt: skip

    def __init__(self, kind: type[Message], algorithm: type[Agent]) -> None:
        self.name = kind.__name__
        self.receive = algorithm.receiver(kind)
        self.words, self.added_words = fixed_words(kind), fixed_added_words(kind)
        self.units = _fixed_amount(kind.units)
        self.tokens = self.units if kind.tokens is None else _fixed_amount(kind.tokens)
        has_one_size = self.words is not None and self.added_words is not None
        self.plain = has_one_size and self.units == self.tokens == 0
        """Whether messages of this class need only be counted."""
        self.watched = not has_one_size or self.units is None or self.tokens is None
        """Whether each is looked at: they differ from each other, or a listener wants every message."""
        self.sent = 0
        self.sent_words = self.sent_added_words = self.sent_tokens = 0  # of messages that were looked at one by one
        self.inspect_at = 1  # how many will have been sent when one is inspected next

    @property
    def token_hops(self) -> int:
        """How many of the messages carried tokens."""
        return self.sent_tokens if self.tokens is None else self.sent if self.tokens else 0


def _fixed_amount(declared: object) -> int | None:
    """What every message of a class carries; None for a property: each message has its own."""
    return declared if type(declared) is int and declared >= 0 else None


class MessageCounts:
    """All message classes of an algorithm, twice: messages of nodes that can reach no unit are counted apart."""

    def __init__(self, kinds: tuple[type[Message], ...], algorithm: type[Agent]) -> None:
        self.usual, self.cut_off = ({kind: MessageClass(kind, algorithm) for kind in kinds} for _ in range(2))

    def watch_all(self) -> None:
        """From now on every message is looked at."""
        for kind in (*self.usual.values(), *self.cut_off.values()):
            kind.plain, kind.watched = False, True

    def forget(self) -> None:
        """The warmup is over: what was sent before does not count."""
        for kind in (*self.usual.values(), *self.cut_off.values()):
            kind.sent = kind.sent_words = kind.sent_added_words = kind.sent_tokens = 0
            kind.inspect_at = 1

    def report(self, listener: Listener) -> None:
        """Pass to the listener how many messages were sent since the warmup."""
        for kind in self.usual.values():
            words = kind.sent_words if kind.words is None else kind.sent * kind.words
            added = kind.sent_added_words if kind.added_words is None else kind.sent * kind.added_words
            if kind.sent:
                listener.sent(kind.name, kind.sent, words, added, kind.token_hops)
        listener.sent_cut_off(sum(kind.sent for kind in self.cut_off.values()))
