"""What each check means for what an algorithm shares: tokens, units, permissions, or the units of neighbourhoods.

The checks take their words from this table, and docs/checks.md has it as it is here.
"""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """What a check means, by what is shared."""

    tokens: str
    units: str
    permissions: str
    neighbourhoods: str


SAME = "the same"

MEANINGS: dict[str, Meaning] = {
    "safety": Meaning(
        tokens="never more nodes inside than there are tokens, and only nodes that asked",
        units="the units that the nodes inside asked for are never more than there are",
        permissions="never more nodes inside than the capacity that the algorithm declares",
        neighbourhoods="the same in every neighbourhood, for the nodes there; a token never says that fewer than "
        "none or more than all of its units are free",
    ),
    "conservation": Meaning(
        tokens="after every step a node says that it holds what it held, plus what it received, less what it sent; all "
        "tokens are there at the start",
        units="the same for units and for tokens, each by itself",
        permissions="permissions are not conserved; nodes may neither hold nor send units (contract)",
        neighbourhoods="also what lies at the places; a token is made anew only if it is lost",
    ),
    "starvation": Meaning(
        tokens="every request is served, unless its node crashed, a partition separates it from every token, or a "
        "fault or a crash took the tokens; not excused once the algorithm has dropped one",
        units="also excused: its component holds fewer units than it asks for, or it waits behind such a request",
        permissions="units excuse nothing; excused: a partition, or a crash of a node that it cannot do without, as "
        "`awaits` says and as far as the run does not refute it",
        neighbourhoods="excused: a fault, a crash or a departure without notice took the token or all units",
    ),
    "progress": Meaning(
        tokens="while requests are pending, no node is inside and nothing is wrong with the network, a node enters "
        "within the patience, and by the end",
        units=SAME,
        permissions=SAME,
        neighbourhoods="the same in every neighbourhood",
    ),
    "order": Meaning(
        tokens="messages from one node to another arrive once each, in the order in which they were sent",
        units=SAME,
        permissions=SAME,
        neighbourhoods="the same; a message for a visit that is over is lost",
    ),
    "contract": Meaning(
        tokens="no handler raises an exception or computes for too long, and every output is one that a node can carry "
        "out: known peers, declared messages, whole numbers",
        units=SAME,
        permissions="the same; no message carries units",
        neighbourhoods="the same; messages name their visits",
    ),
    "timing": Meaning(
        tokens="in real time, stations and medium are not later than the link layer's timers bear",
        units=SAME,
        permissions=SAME,
        neighbourhoods=SAME,
    ),
}


def meanings_table() -> str:
    """The table in Markdown, as docs/checks.md shows it."""
    rows = [("check", *Meaning._fields), ("---",) * 5, *((f"`{name}`", *meaning) for name, meaning in MEANINGS.items())]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
