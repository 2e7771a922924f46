"""KRLF's forwarding: to which neighbour an idle token goes, and how far."""

import hashlib
import json
from random import Random

import pytest

from agents.contract import ONE_UNIT
from agents.krl import Initial
from agents.krlf import ForwardingParameters, KReverseLinkForwarding
from agents.krlf_adaptive import AdaptiveParameters, KReverseLinkAdaptive
from agents.krlf_adaptive import Token as CountedToken
from agents.outputs import Send
from agents.registry import ALGORITHMS
from agents.rl import Token
from tests.agents.k_stage import play
from tests.testbed.simulate import ALL_OK, simulate

NEIGHBOURS = ((0, 2, 1), (0, 1, 2), (0, 4, 3), (0, 3, 4))
"""In the order of nodes; from the lowest to the highest they are 2, 1, 4, 3."""
CHOICES = ("lowest", "other", "random", "highest")
LINK_CHANGES = {
    "nodes": 10,
    "topology": {"kind": "random", "connectivity": 0.4, "link_change_rate": 0.1},
}
CUT = {
    "nodes": 12,
    "faults": [{"at": 100.0, "kind": "cut", "group": [0, 1, 2, 3]}, {"at": 200.0, "kind": "heal"}],
}


def node(forward_to: str, neighbours=NEIGHBOURS, seed: int = 1) -> KReverseLinkForwarding:
    """Node 5 at height (0, 9, 5), without a token."""
    parameters = ForwardingParameters(forward_to=forward_to)
    return KReverseLinkForwarding.start(5, Initial((0, 9, 5), neighbours, 0), parameters, Random(seed))


def receivers(agent, count: int, sender: int, neighbours=NEIGHBOURS) -> list[int]:
    """To which nodes idle tokens go that come from this one, each with all neighbours as high as at the start."""
    heights, went = {height[2]: height for height in neighbours}, []
    for _ in range(count):
        agent.height, agent.my_height = dict(heights), (0, 9, 5)
        agent.awaiting_info.clear()
        agent.on_receive(sender, Token(heights[sender]))
        went += [one.peer for one in agent.take_outputs() if isinstance(one, Send) and isinstance(one.message, Token)]
    return went


def test_the_printed_rule():
    """The lowest not visited yet: the sender is visited (line 1), and after a reset the lowest comes first again."""
    assert receivers(node("lowest"), 5, sender=3) == [2, 1, 4, 2, 1]
    assert receivers(node("lowest"), 5, sender=2) == [1, 4, 3, 2, 1]


def test_highest():
    """The opposite of the paper's argument, for comparison."""
    assert receivers(node("highest"), 4, sender=2) == [3, 4, 1, 3]


def test_random():
    """Each neighbour once before any comes again, in an order that only the generator decides."""
    orders = {tuple(receivers(node("random", seed=seed), 3, sender=2)) for seed in range(20)}
    assert len(orders) > 3
    assert all(sorted(order) == [1, 3, 4] for order in orders)
    assert receivers(node("random", seed=7), 9, sender=2) == receivers(node("random", seed=7), 9, sender=2)


def test_the_last_receiver_is_not_the_next():
    """Section 2: "a different neighbor than the one it last sent the token to when possible", also after a reset."""
    two = NEIGHBOURS[:2]
    assert receivers(node("lowest", two), 4, 1, two) == [2, 2, 2, 2], (
        "line 1 marks node 1, so each reset leads to node 2"
    )
    assert receivers(node("other", two), 4, 1, two) == [2, 1, 2, 1]


def test_a_token_that_was_asked_for_counts_as_sent():
    """Section 2 speaks of the last token sent, not only of the last one forwarded."""

    def next_receiver(forward_to: str) -> int:
        agent = node(forward_to)
        agent.queue = [2]
        agent.on_receive(3, Token((0, 4, 3)))
        assert agent.last_receiver == 2
        agent.take_outputs()
        return receivers(agent, 1, sender=3)[0]

    assert next_receiver("lowest") == 2
    assert next_receiver("other") == 1


def test_one_neighbour_is_better_than_none():
    """ "When possible": the only neighbour gets the token again."""
    agent = node("other", NEIGHBOURS[:1])
    for _ in range(3):
        agent.awaiting_info.clear()
        agent.on_receive(1, Token((0, 2, 1)))
        assert agent.tokens == 0


def test_a_token_with_fixed_hops():
    """Every token that comes free goes so far, whatever the load, and rests there."""
    initial = Initial((0, 0, 5), ((0, 1, 1), (0, 1, 2)), 1)
    agent = KReverseLinkAdaptive(5, initial, AdaptiveParameters(hops=2))
    assert agent.notes == []
    agent.on_request(ONE_UNIT)
    agent.take_outputs()
    agent.on_release()
    sent = [one.message.hops for one in agent.take_outputs() if isinstance(one, Send) and one.message.units]
    assert sent == [2], "no node has asked, so a node that goes by the load would have kept it"
    agent.awaiting_info.clear()
    agent.on_receive(2, CountedToken((0, 1, 2), 1))
    assert agent.tokens == 1, "it has come to rest"


def test_no_hops_is_krl():
    """KRL's tokens rest where they were used."""
    keys = {**LINK_CHANGES, "workload": {"rate": 0.05}}
    still, krl = (
        simulate(algorithm=algorithm, **keys)
        for algorithm in ({"name": "krlf-adaptive", "k": 2, "hops": 0}, {"name": "krl", "k": 2})
    )
    entries = [[(event["t"], event["node"]) for event in run.diary.of("enter")] for run in (still, krl)]
    assert entries[0] == entries[1]


@pytest.mark.parametrize(("key", "value"), [("forward_to", "nearest"), ("hops", 2)])
def test_what_krlf_does_not_know(key, value):
    """A choice that is none, and `hops`, which needs a token that counts them: that is krlf-adaptive."""
    with pytest.raises(ValueError, match=key):
        simulate(algorithm={"name": "krlf", key: value})


def test_negative_hops_are_refused():
    """In one line that names the parameter."""
    with pytest.raises(ValueError, match="hops at least 0"):
        AdaptiveParameters(hops=-1)


# -- whole runs --------------------------------------------------------------------------------------------------------


def events_of(name: str, keys: dict, **parameters) -> str:
    """The first digits of the hash of all that happens in a run."""
    run = simulate(algorithm={"name": name, **parameters}, **keys)
    assert run.verdicts == ALL_OK
    events = run.diary.events[1:]  # the start also says what the algorithm is
    return hashlib.sha256(json.dumps(events, sort_keys=True, default=str).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("name", "k", "keys", "digits"),
    [
        ("krlf", 2, LINK_CHANGES, "c43a03e85c085a37"),
        ("krlf", 3, CUT, "3038539e35fa11d2"),
        ("krlf-adaptive", 2, LINK_CHANGES, "4f48f194170047e8"),
        ("krlf-adaptive", 3, CUT, "cc5f6a78e9baabef"),
    ],
)
def test_defaults_are_the_printed_rule(name, k, keys, digits):
    """The events of these runs are those from before the choice was a parameter."""
    assert events_of(name, keys, k=k) == digits
    assert events_of(name, keys, k=k, forward_to="lowest") == digits


def test_every_choice_makes_a_difference():
    """No two choices have the same run, and every run passes the checks."""
    assert len({events_of("krlf", LINK_CHANGES, k=2, forward_to=choice) for choice in CHOICES}) == len(CHOICES)
    chosen = [{"hops": hops} for hops in (0, 1, 4)] + [{"hops": 4, "forward_to": "highest"}]
    assert len({events_of("krlf-adaptive", LINK_CHANGES, k=2, **one) for one in chosen}) == len(chosen)


@pytest.mark.parametrize("forward_to", CHOICES[1:])
@pytest.mark.parametrize("name", ["krlf", "krlf-adaptive"])
def test_any_schedule(name, forward_to):
    """K-mutual exclusion, k tokens and no starvation do not depend on the choice."""
    agent = ALGORITHMS[name]
    parameters = agent.parameters(forward_to=forward_to)

    class Chosen(agent):
        def __init__(self, node, initial):
            super().__init__(node, initial, parameters, Random(node))

    for seed in range(40):
        assert play(seed, Chosen).waiting() == []
