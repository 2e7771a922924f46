"""Partitions: into how many parts the network has fallen, and who is cut off from every unit.

In a part without a unit nobody can enter, and link-reversal algorithms raise heights there for as long as it lasts.
What such nodes send says nothing of what a critical section costs, so it is counted apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from testbed.backends.sim import Simulation


class Partitions:
    """Tells the driver and the listener of a simulation when its parts have changed."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._told: tuple[int, frozenset[int]] = (1, frozenset())
        simulation.links.on_parts = self.update

    def update(self) -> None:
        """Look at the parts that there are now. A node that has crashed or is not there is no part."""
        driver = self._simulation.driver
        parts = [
            alive
            for members in self._simulation.links.components.members.values()
            if (alive := [node for node in members if driver.is_alive(node) and node not in driver.absent])
        ]
        supplied = self._components_with_units()
        label = self._simulation.links.components.label
        cut_off = frozenset(node for part in parts if label[part[0]] not in supplied for node in part)
        if (len(parts), cut_off) != self._told:
            self._told = (len(parts), cut_off)
            self._simulation.listener.partition(self._simulation.now, None, len(parts), sorted(cut_off))
            driver.set_cut_off(cut_off)

    def _components_with_units(self) -> set[int]:
        """The labels of the components in which a unit is held or in transit."""
        label = self._simulation.links.components.label
        holders = {label[node] for node, agent in self._simulation.driver.agents.items() if agent.units}
        moving = [post[0] for _, post in self._simulation.transport.in_transit() if post[1].units]
        return holders | {label[one.source] for one in moving if label[one.source] == label[one.target]}
