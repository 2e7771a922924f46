"""The faults that a scenario asks for."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from testbed.durations import to_ticks
from testbed.input_errors import found_instead
from testbed.network.faults import Fault
from testbed.scenario.topology import Node
from testbed.scenario.workload import Units
from testbed.section import Section


class FaultSection(Section):
    """Something that goes wrong at a time: to a node by number, or to the node that holds a token then."""

    at: Units
    kind: Literal["crash", "restart", "cut", "heal", "lose", "vanish"]
    node: Node | None = None
    holder: bool = False
    peer: Node | None = None
    """For cut and heal: only the link between `node` and this one."""
    group: list[Node] | None = None
    """For cut and heal: the links between these nodes and all others."""
    message: str | None = None
    """For lose: only a message of this type."""

    def fault(self) -> Fault:
        """The fault in the form that the engine carries out."""
        group = None if self.group is None else tuple(self.group)
        return Fault(to_ticks(self.at), self.kind, self.node, self.holder, self.peer, group, self.message)

    @model_validator(mode="after")
    def _makes_sense(self) -> FaultSection:
        subjects = (self.node is not None) + self.holder + (self.group is not None)
        wanted = {
            "crash": "node or holder",
            "restart": "node",
            "cut": "node, holder or group",
            "heal": "node, group, or none of them for all",
            "lose": "node or holder",
            "vanish": "node or holder",
        }[self.kind]
        fits = {
            "crash": subjects == 1 and self.group is None,
            "restart": subjects == 1 and self.node is not None,
            "cut": subjects == 1,
            "heal": subjects <= 1 and not self.holder,
            "lose": subjects == 1 and self.group is None,
            "vanish": subjects == 1 and self.group is None,
        }[self.kind]
        if not fits:
            raise found_instead(f"a {self.kind} with {subjects} subjects or the wrong one", wanted)
        if self.peer is not None and (self.kind not in ("cut", "heal") or self.node is None):
            raise found_instead("peer", "with cut or heal and a node", key="peer")
        if self.peer is not None and self.peer == self.node:
            raise found_instead(f"{self.peer}", "another node than the fault's own", key="peer")
        if self.message is not None and self.kind != "lose":
            raise found_instead("message", "with lose", key="message")
        return self
