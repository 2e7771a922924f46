"""Numbers in sentences: `1 unit`, `2 units`."""

from __future__ import annotations


def counted(count: int, what: str) -> str:
    """A number and what it counts, which is named in the singular."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
