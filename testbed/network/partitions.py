"""Partitions: into how many parts the network has fallen, and who is cut off from every unit.

In a part without a unit nobody can enter, and link-reversal algorithms raise heights there for as long as it lasts.
What such nodes send says nothing of what a critical section costs, so it is counted apart.
"""

from __future__ import annotations

from testbed.network.interfaces import Parted


class Partitions:
    """Tells a world and its listener when its parts have changed, whenever the world lets it look."""

    def __init__(self, ground: Parted) -> None:
        self._ground = ground
        self._told: tuple[int, frozenset[int]] = (1, frozenset())

    def update(self) -> None:
        """Look at the parts that there are now. A node that has crashed or is not there is no part."""
        ground, components = self._ground, self._ground.links.components
        parts = [
            present
            for members in components.members.values()
            if (present := [node for node in members if ground.is_there(node)])
        ]
        supplied = self._components_with_units()
        cut_off = frozenset(node for part in parts if components.label[part[0]] not in supplied for node in part)
        if (len(parts), cut_off) != self._told:
            self._told = (len(parts), cut_off)
            ground.listener.partition(ground.now, None, len(parts), sorted(cut_off))
            ground.set_cut_off(cut_off)

    def _components_with_units(self) -> set[int]:
        """The labels of the components in which a unit is held or in transit."""
        label = self._ground.links.components.label
        holders = {label[node] for node in self._ground.holders()}
        moving = self._ground.moving_units()
        return holders | {label[one.source] for one in moving if label[one.source] == label[one.target]}
