"""What carries messages between neighbours, as a scenario chooses it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, PlainValidator

from testbed.durations import MAX_UNITS, to_ticks
from testbed.input_errors import found_instead, shown
from testbed.link.settings import LinkSettings
from testbed.section import KindAlone, Section

Share = Annotated[float, Field(ge=0, le=1)]
MAX_HELLOS = 1e6
Hellos = Annotated[float, Field(gt=0, le=MAX_HELLOS)]
"""A time, in intervals between hellos."""


def _parse_timeout(value: Any) -> float | str:
    if value in ("never", "by algorithm"):
        return str(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MAX_HELLOS:
        return float(value)
    allowed = f"never, by algorithm, or a number of hello intervals, more than 0 and at most {MAX_HELLOS:g}"
    raise found_instead(shown(value), allowed)


class IdealChoice(Section):
    """The papers' links: reliable, in order, announced."""

    kind: Literal["ideal"] = "ideal"


class RadioChoice(Section):
    """A link layer of our own on datagrams that are lost, doubled, delayed and overtake each other."""

    kind: Literal["radio"] = "radio"
    loss: Share = 0.0
    """Of datagrams, besides what the radio loses where nodes have places."""
    duplicate: Share = 0.0
    """Of datagrams that arrive twice."""
    collisions: bool = False
    """Whether frames that overlap at a receiver spoil each other, where real frames are on the air."""
    hello: Annotated[float, Field(gt=0, le=MAX_UNITS)] = 1.0
    """Time units between two hellos."""
    jitter: Annotated[float, Field(ge=0, le=0.9)] = 0.2
    up_after: Annotated[int, Field(ge=1, le=100)] = 2
    """Hellos that it takes to open a link."""
    dead_after: Hellos = 3.5
    """Silence after which a link closes."""
    retry: Hellos = 0.25
    """After which a datagram is sent again; doubled every time, up to `max_retry`."""
    max_retry: Hellos = 4.0
    close_timeout: Annotated[float | str, PlainValidator(_parse_timeout)] = "by algorithm"
    """How long two ends try to agree on how a session ends. By algorithm: without limit (`never`) if its paper assumes
    a connected network, because it has no way to learn that a token is in doubt; otherwise 20."""

    def settings(self, assumes_connected: bool) -> LinkSettings:
        """The settings in the form that the link layer takes."""

        def ticks(hellos: float) -> int:
            return max(1, to_ticks(hellos * self.hello))

        timeout = self.close_timeout
        if timeout == "by algorithm":
            timeout = "never" if assumes_connected else 20.0
        return LinkSettings(
            hello=ticks(1),
            jitter=self.jitter,
            up_after=self.up_after,
            dead_after=ticks(self.dead_after),
            retry=ticks(self.retry),
            max_retry=ticks(max(self.retry, self.max_retry)),
            close_timeout=None if isinstance(timeout, str) else ticks(timeout),
        )


LinkChoice = Annotated[
    Annotated[IdealChoice | RadioChoice, Discriminator("kind")],
    KindAlone,
]
