"""What the contract asks of every registered algorithm. A new one joins by being registered."""

import ast
import sys
from dataclasses import FrozenInstanceError, dataclass, field, fields
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agents
from agents.codec import Codec
from agents.contract import ONE_UNIT, Agent, Needs, Shares, Status
from agents.errors import MisuseError, PeerError
from agents.groups import GroupAgent, GroupMessage
from agents.message import HEADER_WORDS, Message, fixed_words
from agents.outputs import DEPOSIT, READY_TO_LEAVE, Send
from agents.partition_detection import DetectingAgent
from agents.registry import ALGORITHMS
from agents.rl import Request, Token
from analysis.audit import BatchedAudit
from testbed.backends.sim.simulation import Simulation
from testbed.network.graph import complete
from testbed.randomness import Streams
from testbed.runtime.message_losses import Dropped
from testbed.scenario.schema import Scenario
from tests.testbed.simulate import groups_for

every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)


def simulation(name: str, seed: int = 3, **keys: Any) -> Simulation:
    """A short mobile run of an algorithm, not yet started; nodes come and go if it runs in a neighbourhood."""
    scenario = Scenario.model_validate(
        {
            "name": "contract",
            "algorithm": name,
            "nodes": 8,
            "topology": {"kind": "random", "connectivity": 0.5, "link_change_rate": 0.05},
            "workload": {"rate": 0.1},
            "duration": 150.0,
            "seed": seed,
            "trace": "events",
            **groups_for(name),
            **keys,
        }
    )
    return Simulation(scenario, Streams(seed, 0), BatchedAudit())


@every_algorithm
def test_initial_units_are_the_capacity(name):
    """As many units at the start as may be in use."""
    world = simulation(name)
    choice = world.scenario.algorithm
    if choice.agent.shares is Shares.PERMISSIONS:
        assert not any(agent.units for agent in world.driver.agents.values())
        return
    assert sum(agent.units for agent in world.driver.agents.values()) == choice.agent.capacity(choice.parameters)


def is_for(agent: Agent, message: Message) -> bool:
    """Whether an agent gets a message: one in a neighbourhood is for one visit of its receiver."""
    if not isinstance(message, GroupMessage):
        return True
    assert isinstance(agent, GroupAgent)
    return (message.group, message.to_visit) == (agent.group, agent.visit)


@every_algorithm
def test_clones_are_exact_and_independent(name):
    """At every step of a run: a clone has the same state, and stepping it leaves the original alone."""
    world = simulation(name)
    receive, checked = world.driver.receive, 0

    def stepped(posts) -> None:
        nonlocal checked
        for post in posts:
            channel, message, *_ = post
            agent = world.driver.agents[channel.target]
            if not is_for(agent, message):  # its receiver has left
                receive([post])
                continue
            before, twin = agent.state(), agent.clone()
            assert twin.state() == before
            assert hash(twin.state()) == hash(before)
            twin.on_receive(channel.source, message)
            assert agent.state() == before, "the clone shares state with its original"
            alone = channel.on_arrival is None  # else the link may fall with this message, and the agent hear of it
            alone &= not any(op in (READY_TO_LEAVE, DEPOSIT) for op, *_ in twin.outbox)  # else the agent leaves as well
            receive([post])
            twin.outbox.clear()
            if alone:
                assert agent.state() == twin.state(), "the clone behaves differently"
                checked += 1

    world.driver.receive = stepped  # what a router calls
    if world.transport is world.links:
        world.deliver = stepped  # what the event loop calls
    world.run_all(lambda share: None)
    assert checked > 50


def messages_of(world: Simulation) -> list[Message]:
    """Everything that is sent in a run."""
    sent, move = [], world.move

    def spy(posts) -> None:
        sent.extend(one.message if isinstance(one, Dropped) else one for _, one, *_ in posts)
        move(posts)

    world.move = spy
    world.run_all(lambda share: None)
    return sent


@every_algorithm
def test_messages_survive_the_codec(name):
    """Everything an algorithm sends in a run is the same after a trip through bytes.

    Algorithms in neighbourhoods, which make a lost token anew, lose one. Those that can detect a partition meet one.
    """
    algorithm: dict[str, Any] = {"name": name}
    faults = [{"at": 50.0, "kind": "lose", "holder": True}] if ALGORITHMS[name].needs is Needs.GROUPS else []
    if issubclass(ALGORITHMS[name], DetectingAgent):
        algorithm["detect_partitions"] = True
        faults = [{"at": 50.0, "kind": "cut", "group": [5, 6, 7]}, {"at": 90.0, "kind": "heal"}]
        if "k" in {one.name for one in fields(ALGORITHMS[name].parameters)}:
            algorithm["k"] = 1  # else the nodes that are cut off have tokens too
    world = simulation(name, faults=faults, algorithm=algorithm)
    codec = Codec(world.scenario.algorithm.agent.messages)
    sent = messages_of(world)
    assert all(codec.decode(codec.encode(message)) == message for message in sent)
    seen = {type(message) for message in sent}
    assert seen == set(ALGORITHMS[name].messages), "a declared message is never sent, or the run is too small"


@every_algorithm
def test_word_counts_agree(name):
    """The count by declaration, where there is one, is the count by content."""
    sent = messages_of(simulation(name))
    assert sent
    for message in sent:
        assert message.words >= HEADER_WORDS
        assert fixed_words(type(message)) in (None, message.words)


@every_algorithm
def test_misuse_changes_nothing(name):
    """A second request, or a release out of turn, is refused and leaves no trace."""
    agent = simulation(name).driver.agents[1]
    before = agent.state()
    with pytest.raises(MisuseError):
        agent.on_release()
    assert agent.state() == before
    agent.on_request(ONE_UNIT)
    before = agent.state()
    with pytest.raises(MisuseError):
        agent.on_request(ONE_UNIT)
    assert agent.state() == before


@every_algorithm
def test_a_returned_token_is_never_dropped_in_silence(name):
    """What carries units is taken back or refused aloud."""
    if ALGORITHMS[name].shares is Shares.PERMISSIONS:
        pytest.skip("it has no tokens")
    world = simulation(name)
    token = next(message for message in messages_of(world) if message.units)
    agent = next(one for one in world.driver.agents.values() if one.status is Status.REMAINDER and not one.units)
    if agent.needs is Needs.ANY_NODE:  # a router takes care of its messages
        with pytest.raises(MisuseError, match="carries units"):
            agent.on_return(0, token)
        return
    agent.on_return(0, token)
    units = sum(one.message.units for one in agent.take_outputs() if isinstance(one, Send))
    assert agent.units + units == token.units


@every_algorithm
def test_a_blank_agent_holds_nothing(name):
    """A node that comes back from a crash brings no units."""
    scenario = simulation(name).scenario
    choice, graph = scenario.algorithm, complete(scenario.nodes).adjacency()
    initial = choice.agent.initial(graph, choice.parameters)[4]
    agent = choice.agent.start(4, choice.agent.blank(4, initial, choice.parameters), choice.parameters, Random(0))
    assert agent.units == 0
    assert agent.node == 4


@every_algorithm
def test_declarations(name):
    """Every algorithm says what it needs, what it sends and what it is."""
    agent = ALGORITHMS[name]
    assert isinstance(agent.needs, Needs)
    assert agent.messages
    assert agent.summary
    assert "Deviations" in (ast.get_docstring(ast.parse(Path(_source(agent)).read_text())) or "")


def _source(agent: type[Agent]) -> str:
    return str(sys.modules[agent.__module__].__file__)


def test_agents_import_nothing_of_the_testbed():
    """The wall: the standard library and the package itself, no clock, no socket, no other package."""
    forbidden = {"testbed", "analysis", "time", "socket", "asyncio", "pydantic", "yaml", "datetime", "os"}
    for path in Path(agents.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & forbidden, path


class Echo(Agent):
    """Notes what it is given."""

    messages = (Token, Request)
    handlers: ClassVar = {Token: "on_token"}

    def on_token(self, peer: int, message: Token) -> None:
        self.heard = ("Echo", peer, message)


class LouderEcho(Echo):
    """Takes tokens in its own way."""

    def on_token(self, peer: int, message: Token) -> None:
        self.heard = ("LouderEcho", peer, message)


class DeafEcho(Echo):
    """Lets nothing through to the handlers."""

    def on_receive(self, peer: int, message: Message) -> None:
        self.heard = ("DeafEcho", peer, message)


@pytest.mark.parametrize("algorithm", [Echo, LouderEcho, DeafEcho])
def test_a_driver_in_a_hurry_takes_the_same_way(algorithm):
    """`receiver` is what `on_receive` comes to, whichever of the two a subclass overrides."""
    slow, quick, token = algorithm(0), algorithm(0), Token((0, 1, 2))
    slow.on_receive(3, token)
    algorithm.receiver(Token)(quick, 3, token)
    assert slow.heard == quick.heard == (algorithm.__name__, 3, token)


def test_a_message_without_a_handler_is_refused():
    """By both ways."""
    for receive in (Echo.on_receive, Echo.receiver(Request)):
        with pytest.raises(PeerError, match="unexpected Request from node 3"):
            receive(Echo(0), 3, Request((0, 1, 2)))


@dataclass(frozen=True, slots=True)
class Hello(Message):
    """A field with a default, and one with none."""

    number: int
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class LongHello(Hello):
    """A field of its own besides."""

    names: tuple[int, ...] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class CheckedHello(Hello):
    """Refuses some values."""

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError("number at least 0")


def test_messages_are_made_as_dataclasses_are():
    """Setting fields by their slots changes nothing but the time it takes."""
    assert repr(Hello(3)) == "Hello(number=3, urgent=False)"
    assert Hello(3, urgent=True) == Hello(3, True) != Hello(3)
    assert hash(Hello(number=3)) == hash(Hello(3))
    assert LongHello(3).names == ()
    assert LongHello(3, False, (1, 2)).number == 3
    with pytest.raises(ValueError, match="at least 0"):
        CheckedHello(-1)
    with pytest.raises(TypeError, match=r"Hello.__init__\(\) missing 1 required positional argument: 'number'"):
        Hello()
    with pytest.raises(FrozenInstanceError):
        Hello(3).number = 4


@given(st.binary(max_size=40))
def test_bytes_that_are_no_message_are_refused(data):
    """Whatever arrives is one message exactly, or a PeerError; never anything else."""
    codec = Codec(ALGORITHMS["rl"].messages)
    try:
        message = codec.decode(data)
    except PeerError:
        return
    assert codec.encode(message) == data
