"""Partition detection for link-reversal algorithms, after TORA: a component without a token falls silent.

V. D. Park, M. S. Corson: A Highly Adaptive Distributed Routing Algorithm for Mobile Wireless Networks. INFOCOM 1997,
section 2, to which section 7 of the RL paper points. Without it, every node of such a component is a sink in turn and
raises its height for ever (`agents.pacing` only slows that down). With `detect_partitions`, the first number of a
height is a reference level: a time, the node that started a wave of raises, and whether the wave has been reflected,
in one integer that sorts like the three. A node that becomes a sink because a link failed starts a wave with a new
level. One that becomes a sink because its neighbours have risen passes on the highest level among them; if all have
the same, it reflects that; if all have reflected a level that it has started itself, the wave has been everywhere
without meeting a holder, which never rises. In TORA times are read from clocks; here they count up.

Then the node falls silent, and NoToken makes its component fall silent: no node raises its height or forwards a
request, but keeps what it is asked. In a mobile network a level may come back although there is a token, which has
moved meanwhile. So a holder that hears NoToken, or a silent node that gets a token, answers with Awake. Awake is also
sent by a silent node that gets a new neighbour: the component may have a token now. A level that was woken up no longer
counts, nor do earlier ones, so that an Awake and a NoToken that meet can be told apart. A node that wakes up as a sink
starts a new wave.

Where holders lower their heights (KRL), the same happens upside down in a component where every node is a holder: if
all neighbours have reflected a level below that the node has started, it lowers its height no more, and tells no other
node; it forgets that with the next link, token or request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agents.heights import Height, lowered, raised
from agents.message import Message
from agents.pacing import PacedAgent, PacedParameters

NODES = 2**20
"""More than any network has."""


@dataclass(frozen=True, slots=True)
class NoToken(Message):
    """The wave of this level has come back: there is no token here."""

    level: int


@dataclass(frozen=True, slots=True)
class Awake(Message):
    """There is a token, or may be one: a NoToken with this level or an earlier one no longer counts."""

    level: int


DETECTION = (NoToken, Awake)
DETECTION_HANDLERS: dict[type[Message], str] = {NoToken: "on_no_token", Awake: "on_awake"}


@dataclass(frozen=True)
class DetectingParameters(PacedParameters):
    """`detect_partitions`: whether a component without a token falls silent."""

    detect_partitions: bool = field(default=False, kw_only=True)


UNDETECTED = DetectingParameters()


def next_level(levels: Collection[int], node: int, *, woken: int = 0, starts_wave: bool = False) -> int | None:
    """The level to which a sink rises whose neighbours have these levels; None if its own wave has come back.

    `woken`: a level that no longer counts, nor do earlier ones. `starts_wave`: whether it has to start a wave anyway.
    """
    highest = max(levels)
    new = 2 * ((max(0, highest, woken) // (2 * NODES) + 1) * NODES + node)
    if len(set(levels)) > 1:
        return new if starts_wave else highest
    origin, is_reflected = highest // 2 % NODES, highest % 2
    if starts_wave or highest <= woken:  # no wave has been here, or none that counts
        return new
    if not is_reflected:
        return highest + 1
    return None if origin == node else new


class DetectingAgent(PacedAgent):
    """An agent that raises its height, and falls silent if that is in vain."""

    messages: ClassVar[tuple[type[Message], ...]] = DETECTION
    my_height: Height
    height: dict[int, Height]
    next: int
    queue: list[Any]

    def __init__(self, node: int, parameters: DetectingParameters) -> None:
        super().__init__(node, parameters)
        self.detects = parameters.detect_partitions
        self.starts_wave = False  # whether its next raise starts a wave: a link has failed, or it has woken up
        self.silent: int | None = None  # the level that came back, in a component without a token
        self.woken = 0  # the highest level of an Awake
        self.is_low_enough = False  # whether its component was found to have holders only

    # -- what the algorithms ask for ---------------------------------------------------------------------------------

    def raised_height(self) -> Height | None:
        """The height to which a sink rises; None if there is no token to be found."""
        if not self.detects:
            return raised(self.my_height, self.height)
        levels = [height[0] for height in self.height.values()]
        level = next_level(levels, self.node, woken=self.woken, starts_wave=self.starts_wave)
        self.starts_wave = False
        if level is None:
            self.fall_silent(max(levels))
            return None
        return self._at(level, min)

    def lowered_height(self) -> Height | None:
        """The height to which a holder sinks that has no neighbour above it; None if it is low enough."""
        if not self.detects:
            return lowered(self.my_height, self.height)
        level = next_level([-height[0] for height in self.height.values()], self.node)
        self.is_low_enough = level is None
        return None if level is None else self._at(-level, max)

    def _at(self, level: int, nearest: Callable[[Iterable[int]], int]) -> Height:
        """A height of a level, just beyond the neighbours that have the same."""
        peers = [height[1] for height in self.height.values() if height[0] == level]
        step = -1 if nearest is min else 1
        return (level, nearest(peers) + step if peers else 0, self.node)

    def is_silent(self) -> bool:
        """Whether it knows of no token in its component."""
        return self.silent is not None

    def note_failure(self) -> None:
        """A link has failed: if the node is a sink now, it starts a wave."""
        self.starts_wave = self.detects and self.is_sink()

    def note_news(self) -> None:
        """A neighbour or a token has come: what was found out about this component may no longer hold."""
        self.is_low_enough = False
        if self.silent is not None:
            self.wake(self.silent)

    # -- silence -----------------------------------------------------------------------------------------------------

    def fall_silent(self, level: int, teller: int | None = None) -> None:
        """Know that there is no token here, and tell all neighbours but the one that said so."""
        self.silent = level
        self.next = self.node
        self.send_all([peer for peer in self.height if peer != teller], NoToken(level))

    def on_no_token(self, j: int, message: NoToken) -> None:
        """NoToken: fall silent, or say that there is a token after all."""
        if message.level <= self.woken:  # the Awake has met the NoToken elsewhere
            self.send(j, Awake(self.woken))
        elif self.tokens:
            self.wake(message.level)
        elif self.silent is None:
            self.fall_silent(message.level, j)

    def on_awake(self, j: int, message: Awake) -> None:
        """Awake: wake up, and pass it on once."""
        if message.level > self.woken or (self.silent is not None and message.level >= self.silent):
            self.wake(message.level, j)

    def wake(self, level: int, teller: int | None = None) -> None:
        """Be silent no longer, tell all neighbours but the one that said so, and go on."""
        was_silent = self.silent is not None
        self.woken = max(self.woken, level, self.silent or 0)
        self.silent = None
        self.send_all([peer for peer in self.height if peer != teller], Awake(self.woken))
        if was_silent:
            self.starts_wave = True
            self.resume()

    def resume(self) -> None:
        """Do what was put off while it was silent: rise if it is a sink, else forward its requests."""
        if not self.tokens:
            if self.is_sink():
                self.raise_height()
            elif self.queue:
                self.forward_request()

    def forward_request(self) -> None:
        """Ask the lowest neighbour for a token."""
        raise NotImplementedError
