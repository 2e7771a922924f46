"""Messages that a fault drops: which to lose next, and what stands for them on their channel."""

from __future__ import annotations

from dataclasses import dataclass

from agents.message import Message, tokens_of


@dataclass(frozen=True, slots=True)
class Dropped(Message):
    """Stands on the channel for a message that a fault has dropped, so that the order of the others is kept."""

    message: Message


class MessageLosses:
    """The losses that faults have asked for and that have not happened yet."""

    def __init__(self) -> None:
        self._wanted: list[tuple[int | None, str | None]] = []  # by sender, by type

    def __bool__(self) -> bool:
        return bool(self._wanted)

    def add(self, sender: int | None, type_name: str | None) -> None:
        """Lose the next message of a node (or, for None, the next that carries a token), of a type if one is named."""
        self._wanted.append((sender, type_name))

    def take(self, source: int, message: Message) -> bool:
        """Whether this message is to be lost; each wanted loss happens once."""
        for index, (sender, type_name) in enumerate(self._wanted):
            by_sender = source == sender if sender is not None else tokens_of(message) > 0
            if by_sender and type_name in (None, type(message).__name__):
                del self._wanted[index]
                return True
        return False
