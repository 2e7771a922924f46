"""The name of a link: a pair of nodes, the smaller number first."""

from __future__ import annotations

Link = tuple[int, int]
"""Two nodes, the smaller first."""


def link_of(a: int, b: int) -> Link:
    """The link between two nodes."""
    return (a, b) if a < b else (b, a)
