"""Partition detection: a component without a token falls silent, and wakes up when there may be one again."""

from itertools import combinations
from typing import Any

import pytest

from agents.heights import Height
from agents.krl import Initial, KParameters, KReverseLink
from agents.outputs import Send
from agents.partition_detection import NODES, Awake, DetectingParameters, NoToken, next_level
from agents.registry import ALGORITHMS
from agents.rl import Initial as OneInitial
from agents.rl import LinkInfo, ReverseLink
from tests.agents.cut_runs import run_cuts
from tests.agents.rl_variants import registered
from tests.testbed.simulate import ALL_OK, simulate

DETECTING = [name for name, agent in ALGORITHMS.items() if issubclass(agent.parameters, DetectingParameters)]
every_detecting = pytest.mark.parametrize("name", DETECTING)
RUNS = 200
in_batches = pytest.mark.parametrize("batch", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 10))])
"""2,000 runs of each algorithm, of which the suite makes a tenth; the rest by hand."""
MESSAGES_PER_LINK = 12
"""The bound that is claimed: raises, NoToken and Awake after a cut, for each link of the component that is cut off. In
50,000 drawn components of 2 to 20 nodes the waves took 8.6 at most, and NoToken takes up to 2."""


def level(time: int, origin: int, reflected: int) -> int:
    return 2 * (time * NODES + origin) + reflected


# -- levels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "settings", "expected"),
    [
        pytest.param([0, 0], {}, level(1, 7, 0), id="no wave has been here"),
        pytest.param([0, -3], {}, 0, id="no wave, different heights: partial reversal"),
        pytest.param([level(2, 4, 0), 0], {}, level(2, 4, 0), id="passes the highest on"),
        pytest.param([level(2, 4, 0), level(2, 5, 0)], {"starts_wave": True}, level(3, 7, 0), id="a link has failed"),
        pytest.param([level(2, 4, 0)] * 3, {}, level(2, 4, 1), id="reflects"),
        pytest.param([level(2, 4, 1)] * 3, {}, level(3, 7, 0), id="reflected, and not its own"),
        pytest.param([level(2, 7, 1)] * 3, {}, None, id="its own wave has come back"),
        pytest.param([level(2, 7, 1)] * 3, {"woken": level(2, 7, 1)}, level(3, 7, 0), id="which no longer counts"),
        pytest.param([0], {"woken": level(9, 1, 1)}, level(10, 7, 0), id="newer than what was woken up"),
    ],
)
def test_next_level(levels: list[int], settings: dict[str, Any], expected: int | None) -> None:
    assert next_level(levels, 7, **settings) == expected


# -- one node ---------------------------------------------------------------------------------------------------------


def node(holds_token: bool = False, *neighbours: tuple[int, int, int]) -> ReverseLink:
    return ReverseLink(7, OneInitial((0, 0, 7), neighbours, holds_token), DetectingParameters(detect_partitions=True))


def said(agent: Any) -> list[tuple[int, Any]]:
    return [(one.peer, one.message) for one in agent.take_outputs() if isinstance(one, Send)]


def test_two_nodes_alone_fall_silent() -> None:
    """The shortest wave: it is started, reflected by the only neighbour, and back."""
    agent = node(False, (0, -1, 3), (0, 2, 4))
    agent.on_link_down(3)
    started = level(1, 7, 0)
    assert said(agent) == [(4, LinkInfo((started, 0, 7)))]
    agent.on_link_info(4, LinkInfo((started + 1, 0, 4)))
    assert said(agent) == [(4, NoToken(started + 1))]
    assert agent.is_silent()
    agent.on_link_info(4, LinkInfo((started + 1, 5, 4)))
    assert said(agent) == []


def test_silence_spreads_once_and_keeps_requests() -> None:
    agent = node(False, (0, -1, 3), (0, -2, 4), (0, 2, 5))
    agent.on_no_token(3, NoToken(9))
    assert said(agent) == [(4, NoToken(9)), (5, NoToken(9))]
    agent.on_no_token(5, NoToken(9))
    agent.on_request_message(5, ReverseLink.messages[0]((0, 2, 5)))
    assert said(agent) == []
    assert agent.queue == [5]
    agent.on_awake(4, Awake(9))
    assert [type(message).__name__ for _, message in said(agent)] == ["Awake", "Awake", "Request"]


def test_a_holder_says_that_there_is_a_token() -> None:
    agent = node(True, (0, 1, 3), (0, 1, 4))
    agent.on_no_token(3, NoToken(9))
    assert said(agent) == [(3, Awake(9)), (4, Awake(9))]
    assert not agent.is_silent()
    agent.on_no_token(4, NoToken(9))
    assert said(agent) == [(4, Awake(9))], "its NoToken met the Awake"


def test_a_new_neighbour_wakes_up() -> None:
    agent = node(False, (0, 1, 3))
    agent.on_no_token(3, NoToken(9))
    said(agent)
    agent.on_link_up(5)
    assert said(agent) == [(5, LinkInfo((0, 0, 7)))]
    agent.on_link_info(5, LinkInfo((0, -4, 5)))
    assert (3, Awake(9)) in said(agent)
    assert not agent.is_silent()


def test_holders_among_themselves_lower_their_heights_no_more() -> None:
    """Two nodes with a token each, cut off: without detection each in turn goes below the other for ever."""
    parameters = KParameters(k=2, detect_partitions=True)
    a = KReverseLink(0, Initial((0, 5, 0), ((0, 4, 1), (0, 9, 2)), 1), parameters)
    b = KReverseLink(1, Initial((0, 4, 1), ((0, 5, 0),), 1), parameters)
    agents, sent = {0: a, 1: b}, 0
    a.on_link_down(2)
    for _ in range(50):
        moving = [(source, peer, message) for source in agents for peer, message in said(agents[source])]
        sent += len(moving)
        for source, peer, message in moving:
            agents[peer].on_receive(source, message)
    assert 0 < sent < 10
    assert a.is_low_enough or b.is_low_enough


# -- runs -------------------------------------------------------------------------------------------------------------

RADIO = {"kind": "radio", "hello": 2.0, "close_timeout": 3.0}
MAIN = 5


def cut_off(name: str, size: int, lasts: float, links: Any, **parameters: Any) -> Any:
    """Five nodes with the token, and a ring with chords that hangs on one of them and is cut off for some time.

    Its nodes ask only then, so no token is among them. Returns the run, the links among them, and their messages.
    """
    group = list(range(MAIN, MAIN + size))
    ring = {(min(a, b), max(a, b)) for step in (1, 3) for a, b in zip(group, group[step:] + group[:step], strict=True)}
    inside = sorted(link for link in ring if link[0] != link[1])
    main = list(combinations(range(MAIN), 2))
    faults = [{"at": 60.0, "kind": "cut", "group": group}, {"at": 60.0 + lasts, "kind": "heal"}]
    has_k = "k" in ALGORITHMS[name].parameters.__dataclass_fields__
    done = simulate(
        algorithm={"name": name, **({"k": 1} if has_k else {}), **parameters},
        nodes=MAIN + size,
        topology={"kind": "explicit", "links": [list(link) for link in (*main, (0, MAIN), *inside)]},
        delays={"hop": {"uniform": [0.2, 1.0]}},
        workload={"rate": [0.05] * MAIN + [0.0] * size, "requests": [{"node": one, "at": 100.0} for one in group]},
        faults=faults,
        duration=160.0 + lasts,
        links=links,
        **({"warmup": 10.0} if links != "ideal" else {}),
    )
    assert [one["cut_off"] for one in done.diary.of("partition")][:2] in ([group, []], [[], group])
    return done, len(inside), done.audit.metrics()["messages_cut_off"]


@pytest.mark.parametrize("size", [2, 5, 10])
@pytest.mark.parametrize("links", ["ideal", RADIO], ids=["ideal", "radio"])
@pytest.mark.parametrize("name", ["rl", "krl"])
def test_a_component_that_is_cut_off_falls_silent(name: str, links: Any, size: int) -> None:
    """What it sends is bounded, however long the cut lasts; without detection it never ends. Then all are served."""
    sent = {}
    for lasts in (100.0, 300.0):
        done, inside, sent[lasts] = cut_off(name, size, lasts, links, detect_partitions=True, raise_interval=0.0)
        assert done.verdicts == ALL_OK, done.details
        assert done.details["starvation"] == "every request served"
        assert sent[lasts] <= MESSAGES_PER_LINK * inside + size * size, "requests travel up to `size` hops"
        endless = cut_off(name, size, lasts, links, raise_interval=0.0)[2]
        assert endless > lasts
        assert endless > 5 * sent[lasts]


def test_the_portion_with_a_token_goes_on() -> None:
    """KRL, section 1: in a partitioned network, the nodes that can reach a token holder are served, and no others."""
    done, _, _ = cut_off("krl", 5, 300.0, "ideal", detect_partitions=True)
    during = {one["node"] for one in done.diary.of("enter") if 65 < one["t"] < 360}
    assert during == set(range(MAIN))
    after = {one["node"] for one in done.diary.of("enter") if one["t"] >= 360}
    assert after >= set(range(MAIN, MAIN + 5))


@every_detecting
@in_batches
def test_random_cuts(name: str, batch: int, record_property: Any) -> None:
    """Cuts and heals, also while links change: safe and live, and silence does happen."""
    silences = entries = 0
    for seed in range(batch * 1_000_000, batch * 1_000_000 + RUNS):
        run = run_cuts(seed, name)
        assert not run.failures, f"seed {seed}: {run.failures}"
        silences += bool(run.metrics["messages"].get("Awake"))
        entries += run.metrics["entries"]
    assert silences > RUNS / 5
    record_property(f"{name}, {RUNS} runs", f"{entries} entries, silence in {silences} runs")


class Stale(ReverseLink):
    """Its waves may be older than what was woken up, as in a first version of this code: a mutant."""

    def raised_height(self) -> Height | None:
        woken, self.woken = self.woken, 0
        higher = super().raised_height()
        self.woken = woken
        return higher

    def on_awake(self, j: int, message: Awake) -> None:
        if message.level > self.woken:
            self.wake(message.level, j)


class Sleepy(ReverseLink):
    """A new neighbour does not wake it up: a mutant."""

    def note_news(self) -> None:
        if self.tokens:
            super().note_news()


class Secretive(ReverseLink):
    """It wakes up, and tells no other node: a mutant."""

    def wake(self, level: int, teller: int | None = None) -> None:
        kept, self.height = self.height, {}
        super().wake(level, teller)
        self.height = kept


@pytest.mark.parametrize("mutant", [Stale, Sleepy, Secretive])
def test_mutants_are_caught(mutant: type[ReverseLink]) -> None:
    with registered(mutant, "rl"):
        assert any(run_cuts(seed, "rl").failures for seed in (1221, 1435, *range(100)))
