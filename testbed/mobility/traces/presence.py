"""When a node appears and leaves, for formats that cannot express it: a comment, which every other reader skips.

For other readers such a node is always present, standing where its path begins and ends. These formats allow no more;
what is read back here is complete.
"""

from __future__ import annotations

import math
import re

from testbed.mobility.traces import limits
from testbed.mobility.traces.builder import Builder
from testbed.mobility.traces.source import Source
from testbed.mobility.traces.target import decimal
from testbed.mobility.trajectory import Trajectory

_COMMENT = re.compile(r"# node (\d{1,9})(?: appears (\S+))?(?: leaves (\S+))?")


def comment(number: int, trajectory: Trajectory) -> str:
    """The line about one node, with its line end; empty if the node is always present."""
    appears = f" appears {decimal(trajectory.appears)}" if trajectory.appears > -math.inf else ""
    leaves = f" leaves {decimal(trajectory.leaves)}" if trajectory.leaves < math.inf else ""
    return f"# node {number}{appears}{leaves}\n" if appears or leaves else ""


def note(line: str, source: Source, builder: Builder) -> None:
    """Store the times that a comment gives for a node; other comments, such as "# node 3" alone, are ignored."""
    match = _COMMENT.fullmatch(line)
    if match and (match[2] or match[3]):
        number, appears, leaves = match.groups()
        builder.stay(str(int(number)), *parse(source, appears or "", leaves or ""))


def parse(source: Source, appears: str, leaves: str) -> tuple[float, float]:
    """The two times; an empty one means never."""
    longest = limits.MAX_SECONDS
    return (
        source.number(appears, "appears", -longest, longest) if appears else -math.inf,
        source.number(leaves, "leaves", -longest, longest) if leaves else math.inf,
    )
