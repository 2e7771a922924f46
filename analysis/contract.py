"""Contract: the algorithm asked for nothing that no node can do, and none of its handlers raised an exception."""

from __future__ import annotations

from analysis.check import Check


class Contract(Check):
    """The algorithm keeps to the contract between agents and the testbed; a breach ends the repetition."""

    name = "contract"
    needs_kind = "breach"

    def breach(self, t: int, node: int | None, algorithm: str, event: str, output: str, why: str) -> None:
        where = [] if node is None else [f"node {node}" + (f" in {event}" if event else "")]
        self.offend(t, node, ": ".join([algorithm, *where, *([output] if output else []), why]))
