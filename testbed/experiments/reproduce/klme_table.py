"""Table 1 of the KLME paper: its illustration, steps a to h, by agents, beside what the paper prints.

The paper counts nodes from 1, the testbed from 0: node i there is i - 1 here. Tables give the paper's numbers. A cell
that cannot come out has its reason beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agents.contract import CRITICAL, WAITING
from agents.klme import KLME
from agents.klme_messages import LeaderInfo, Request, first_number
from analysis.tables import Table
from testbed.experiments.reproduce.klme_steps import Sending, Steps

K, LEADER, NODES = 2, 2, 4
"""In the paper's numbers: two units, node 2 is the first leader, and nodes 1 to 4 are there at the start."""
COLUMNS = ("R_Queue", "T_alloc_id", "State", "M_Th_id", "Node_Req_List", "Kfree")
MATCHES = "same"


@dataclass(frozen=True)
class Row:
    """What the paper prints for a step. Columns with a value for each node have them in the order of `nodes`."""

    step: str
    what: str
    nodes: tuple[int, ...]
    queue: tuple[int, ...]
    alloc: tuple[tuple[int, int], ...]
    states: str
    leaders: str
    requests: str
    free: int

    def printed(self) -> dict[str, str]:
        """The cells, by column."""
        values = (_listed(self.queue), _allocated(self.alloc), self.states, self.leaders, self.requests, str(self.free))
        return dict(zip(COLUMNS, values, strict=True))


FOUR, FIVE, WITHOUT_4 = (1, 2, 3, 4), (1, 2, 3, 4, 5), (1, 2, 3, 5)
PAPER = (
    Row("a", "initialization, node 2 is the leader", FOUR, (), (), "R R R R", "2 2 2 2", "0000 0000 0000 0000", 2),
    Row("b", "node 3 asks the idle leader and gets the token", FOUR, (), ((3, 1),), "R R CS R", "3 3 3 3",
        "0010 0010 0010 0010", 1),
    Row("c", "node 4 asks and is permitted", FOUR, (), ((3, 1), (4, 1)), "R R CS CS", "3 3 3 3",
        "0010 0010 0011 0011", 0),
    Row("d", "node 5 enters the neighbourhood", FIVE, (), ((3, 1), (4, 1)), "R R CS CS R", "3 3 3 3 3",
        "00100 00100 00110 00110 00110", 0),
    Row("e", "node 4 leaves its CS", FIVE, (), ((3, 1),), "R R CS R R", "3 3 3 3 3",
        "00100 00100 00110 00110 00110", 1),
    Row("f", "node 4 leaves the neighbourhood", WITHOUT_4, (), ((3, 1),), "R R CS R", "3 3 3 3",
        "0010 0010 0010 0010", 1),
    Row("g", "node 3 leaves its CS, node 1 asks and gets the token", WITHOUT_4, (), ((1, 1),), "CS R R R", "1 1 1 1",
        "1010 1010 1010 1010", 1),
    Row("h", "node 5 asks and is permitted, node 2 asks and is queued", WITHOUT_4, (2,), ((1, 1), (5, 1)), "CS W R CS",
        "1 1 1 1", "1111 1110 1010 1011", 0),
)  # fmt: skip
"""Table 1 as printed."""


@dataclass(frozen=True)
class Cell:
    """A cell of Table 1: as printed, and by our agents."""

    step: str
    what: str
    column: str
    paper: str
    here: str
    why: str = ""
    """Why the two differ."""

    @property
    def matches(self) -> bool:
        """Whether the agents give what is printed."""
        return self.paper == self.here


@dataclass(frozen=True)
class Illustration:
    """The whole table, and the messages of every step."""

    cells: list[Cell]
    messages: dict[str, list[str]]

    def differences(self) -> list[Cell]:
        """The cells that do not come out."""
        return [cell for cell in self.cells if not cell.matches]

    def tables(self) -> tuple[Table, Table]:
        """The cells, a step and column a row; and the messages of every step."""
        lines = [
            (f"{cell.step}: {cell.what}" if cell.column == COLUMNS[0] else "", cell.column, cell.paper, cell.here,
             MATCHES if cell.matches else cell.why)
            for cell in self.cells
        ]  # fmt: skip
        header = ("step", "column", "paper", "here", "")
        sent = [(step, ", ".join(messages)) for step, messages in self.messages.items()]
        return Table(header, lines), Table(("step", "messages, in the order in which they were sent"), sent)


def illustrate() -> Illustration:
    """Run steps a to h and put the paper's cells beside ours."""
    steps = Steps(NODES, K, LEADER - 1)
    cells, messages, done = [], {}, 0
    for row, acts in zip(PAPER, _acts(steps), strict=True):
        for act in acts:  # each settles before the next: the paper's events follow each other
            act()
            steps.settle()
        cells += list(_cells(row, steps))
        messages[row.step] = _described(steps.sent[done:])
        done = len(steps.sent)
    return Illustration(cells, messages)


def _acts(steps: Steps) -> Iterator[list[Callable[[], None]]]:
    """What happens in steps a to h."""
    yield [lambda: None]
    yield [lambda: steps.request(2)]
    yield [lambda: steps.request(3)]
    yield [lambda: steps.join(4)]
    yield [lambda: steps.leave_cs(3)]
    yield [lambda: steps.depart(3)]
    yield [lambda: steps.leave_cs(2), lambda: steps.request(0)]
    yield [lambda: steps.request(4), lambda: steps.request(1)]


def _cells(row: Row, steps: Steps) -> Iterator[Cell]:
    leader, agents = steps.leader, {node: steps.agents[node - 1] for node in row.nodes}
    values = (
        _listed(tuple(node + 1 for node, _ in leader.queue)),
        _allocated(tuple((node + 1, _count(steps.agents[node], number)) for node, number in leader.alloc)),
        " ".join(_state(agent) for agent in agents.values()),
        " ".join("-" if agent.leader is None else str(agent.leader.node + 1) for agent in agents.values()),
        " ".join(_known(agent, steps, row.nodes) for agent in agents.values()),
        str(leader.free),
    )
    for (column, printed), here in zip(row.printed().items(), values, strict=True):
        why = "" if printed == here else _why(row.nodes, printed, here, _listed_to(steps))
        yield Cell(row.step, row.what, column, printed, here, why)


def _why(nodes: tuple[int, ...], printed: str, here: str, listed: set[tuple[int, int]]) -> str:
    """Which nodes know less than the paper prints: a request is told to the leader alone."""
    untold: list[str] = []
    unread: list[str] = []
    for node, theirs, ours in zip(nodes, printed.split(), here.split(), strict=True):
        for about, in_paper, known in zip(nodes, theirs, ours, strict=True):
            if in_paper > known:
                (unread if (node, about) in listed else untold).append(f"{about} to node {node}")
    reasons = []
    if untold:
        reasons.append(f"no message carries the request of {', '.join(untold)}")
    if unread:
        reasons.append(f"Leader_info has that of {', '.join(unread)} as an allocation, and A does not store it")
    return "; ".join(reasons)


def _listed_to(steps: Steps) -> set[tuple[int, int]]:
    """Which nodes have been told by Leader_info of allocations to which others, in the paper's numbers."""
    infos = [(one.target, one.message) for one in steps.sent]
    return {
        (target + 1, node + 1)
        for target, message in infos
        if isinstance(message, LeaderInfo)
        for node, _ in message.alloc
    }


def _state(agent: KLME) -> str:
    return "CS" if agent.status is CRITICAL else "W" if agent.status is WAITING else "R"


def _known(agent: KLME, steps: Steps, nodes: tuple[int, ...]) -> str:
    """Node_Req_List: the node's own request, those that came to it, and at the leader those of the token."""
    numbers = {**agent.served, **agent.requests, agent.node: agent.number}
    return "".join(str(_count(steps.agents[node - 1], numbers.get(node - 1, 0))) for node in nodes)


def _count(agent: KLME, number: int) -> int:
    """The number of a request as the paper counts: in our agents the visit comes first in it."""
    return max(0, number - first_number(agent.visit))


def _listed(nodes: tuple[int, ...]) -> str:
    return " ".join(map(str, nodes)) or "empty"


def _allocated(alloc: tuple[Request, ...]) -> str:
    """T_alloc_id: k pairs; (-1,0) where nothing is allocated."""
    pairs = [*alloc, *[(-1, 0)] * (K - len(alloc))]
    return " ".join(f"{node},{number}" for node, number in pairs)


def _described(sent: list[Sending]) -> list[str]:
    """Messages in the paper's numbers; one to all members is one."""
    lines: dict[tuple[int, int, str], list[str]] = {}
    for one in sent:
        lines.setdefault((one.time, one.source + 1, type(one.message).__name__), []).append(str(one.target + 1))
    return [f"{name} {source} to {' '.join(targets)}" for (_, source, name), targets in lines.items()]
