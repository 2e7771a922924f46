"""What an algorithm declares that it survives: random runs with these faults, on which every check is ok."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from agents.contract import FAULTS, Needs, Shares
from agents.registry import ALGORITHMS
from tests.agents.rl_variants import registered
from tests.testbed.simulate import groups_for, simulate

DECLARED = [(name, fault) for name, agent in ALGORITHMS.items() for fault in agent.survives]
PASSED = ("ok", "not applicable")


def faults(kind: str, rng: Random, nodes: int, *, has_tokens: bool) -> list[dict[str, Any]]:
    """Two faults of a kind, at random times and places; those that end, end before the run does."""
    found: list[dict[str, Any]] = []
    for _ in range(2):
        at, later, node = rng.uniform(20, 120), rng.uniform(10, 60), rng.randrange(nodes)
        if kind == "crash" and has_tokens and rng.random() < 0.3:
            found.append({"at": at, "kind": "crash", "holder": True})
        elif kind in ("crash", "restart"):
            found.append({"at": at, "kind": "crash", "node": node})
        if kind == "restart":
            found.append({"at": at + later, "kind": "restart", "node": node})
        if kind == "cut":
            group = rng.sample(range(nodes), rng.randint(1, nodes // 2))
            found += [{"at": at, "kind": "cut", "group": group}, {"at": at + later, "kind": "heal", "group": group}]
        if kind == "lose":
            found.append({"at": at, "kind": "lose", "node": node})
    return sorted(found, key=lambda fault: float(fault["at"]))


def failures(name: str, kind: str, seed: int) -> dict[str, str]:
    """The checks that a random run with faults of a kind does not pass, and why."""
    rng, agent = Random(f"{kind} {seed}"), ALGORITHMS[name]
    nodes = rng.randint(5, 10)
    changes = rng.uniform(0.05, 0.4) if kind == "link changes" else 0.0
    run = simulate(
        algorithm={"name": name, **({"k": 2} if "k" in agent.parameters.__dataclass_fields__ else {})},
        nodes=nodes,
        topology={"kind": "random", "connectivity": rng.uniform(2 / nodes + 0.05, 0.7), "link_change_rate": changes},
        delays={"hop": rng.choice((1.0, {"exponential": 1.0}))},
        workload={"rate": rng.choice((0.03, 0.1, 0.3))},
        duration=200.0,
        drain=2000.0,
        faults=faults(kind, rng, nodes, has_tokens=agent.shares is Shares.TOKENS),
        seed=seed,
        **groups_for(name),
    )
    return {check: run.details[check] for check, verdict in run.verdicts.items() if verdict not in PASSED}


@pytest.mark.parametrize(("name", "fault"), DECLARED)
def test_it_survives(name: str, fault: str) -> None:
    """In runs that differ in the network, the load, and the time and place of the faults."""
    for seed in range(6):
        assert failures(name, fault, seed) == {}, f"seed {seed}"


@pytest.mark.parametrize(
    ("name", "fault"),
    [("bv", "crash"), ("suzuki-kasami", "restart"), ("rl", "lose")],
)
def test_what_an_algorithm_does_not_survive_is_found(name: str, fault: str) -> None:
    """These runs tell the difference: a declaration that is not true would fail."""
    assert fault not in ALGORITHMS[name].survives
    assert any(failures(name, fault, seed) for seed in range(10))


def test_a_node_that_is_deaf_to_link_changes_is_found() -> None:
    """The runs with link changes tell it from an agent that is not."""

    class Deaf(ALGORITHMS["rl"]):  # type: ignore[name-defined, misc]
        """Misses that a link has fallen."""

        def on_link_down(self, peer: int) -> None:
            """Nothing."""

    def is_caught(seed: int) -> bool:
        try:
            return bool(failures("rl", "link changes", seed))
        except Exception:  # noqa: BLE001  (a message to a node that is no neighbour)
            return True

    with registered(Deaf):
        assert any(is_caught(seed) for seed in range(3))


def test_declarations_fit() -> None:
    """Faults that exist; partitions for algorithms that allow them, link changes only for those that have links."""
    for name, agent in ALGORITHMS.items():
        assert set(agent.survives) <= set(FAULTS), name
        assert agent.assumes_connected or "cut" in agent.survives, name
        assert ("link changes" in agent.survives) == (agent.needs is Needs.LINKS), name
