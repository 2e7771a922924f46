"""The output of a replay: text with a line for every input, or one JSON document."""

from __future__ import annotations

import hashlib
import traceback
from collections import deque
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import groupby
from random import Random
from typing import Any

from agents.contract import TICKS, Demand
from testbed.replay.node_history import Input, Letter, Output
from testbed.replay.replayer import NodeReplay, Step

# -- text -------------------------------------------------------------------------------------------------------------


def render(replay: NodeReplay) -> str:
    """Every input with its effects, the state at the end, and whether everything was as recorded."""
    names = {kind.__name__: [field.name for field in fields(kind)] for kind in replay.scenario.algorithm.agent.messages}  # type: ignore[arg-type]
    text = _Text(names)
    logs = ", ".join(str(file.relative_to(replay.path)) for file in replay.log.files)
    lines = [f"{replay.path}: node {replay.node}, {replay.scenario.algorithm.name}, from {logs}", ""]
    width = max((len(_units(step.given.t)) for step in replay.steps), default=0)
    for step in replay.steps:
        lines += text.step(step, width)
    if replay.steps:
        last = replay.steps[-1].given
        lines += ["", f"state at t={_units(last.t)}{', when it crashed' if last.kind == 'crash' else ''}:"]
    lines += [f"  {name} = {_shown(value)}" for name, value in replay.state.items()]
    lines += ["", text.verdict(replay)]
    return "\n".join(lines) + "\n"


class _Text:
    """Inputs and outputs as text, given the names of the fields of every message type."""

    def __init__(self, names: dict[str, list[str]]) -> None:
        self._names = names
        self._state: dict[str, Any] = {}

    def step(self, step: Step, width: int) -> Iterator[str]:
        """A line, and more below it if the step differs or raised an exception."""
        if step.given.kind in ("start", "restart"):
            self._state = {}
        parts = [self.given(step.given)]
        if step.outputs:
            parts.append(f"-> {self.outputs(step.outputs)}")
        if step.changes:
            parts.append(f"| {', '.join(self.changes(step.changes))}")
        yield f"{_units(step.given.t):>{width}}  {' '.join(parts)}"
        margin = " " * (width + 2)
        if step.raised is not None:
            for line in "".join(traceback.format_exception(step.raised)).splitlines():
                yield f"{margin}{line}"
        if step.differs:
            recorded, now = self.difference(step)
            yield f"{margin}DIFFERS: recorded {recorded}"
            yield f"{margin}         now      {now}"

    def verdict(self, replay: NodeReplay) -> str:
        """The last line."""
        different = replay.differences
        if different:
            recorded, now = self.difference(different[0])
            more = f"; {len(different) - 1} more inputs differ" if len(different) > 1 else ""
            given = different[0].given
            return f"DIFFERS at t={_units(given.t)}, {self.given(given)}: recorded {recorded}, now {now}{more}"
        inputs = sum(step.given.kind not in ("start", "restart", "crash") for step in replay.steps)
        sentences = [f"as recorded: every output of {inputs} inputs"]
        sentences += [f"the agent failed as it does now: {_error(step.raised)}" for step in replay.steps if step.raised]
        return "; ".join(sentences if replay.missing is None else [*sentences, replay.missing])

    def difference(self, step: Step) -> tuple[str, str]:
        """What the log has, and what the replayed agent does."""
        recorded = now = "nothing more"
        if step.difference is not None:
            recorded, now = (
                "nothing more" if output is None else self.outputs([output])
                for output in (step.difference.recorded, step.difference.now)
            )
        elif step.raised is not None:
            recorded = "no exception"
        return recorded, f"raises {_error(step.raised)}" if step.raised is not None else now

    def given(self, given: Input) -> str:
        """An input as text."""
        if given.kind == "recv":
            return f"recv {self.letter(given.letter, f'from {given.peer}')}"
        if given.kind == "return":
            return f"return {self.letter(given.letter, f'to {given.peer}')}"
        if given.demand is not None and given.demand != Demand():
            return f"request units={given.demand.units} priority={given.demand.priority}"
        if given.group is not None:
            return self._in_group(given)
        details = (given.timer, given.peer)
        return " ".join([given.kind, *(str(detail) for detail in details if detail is not None)])

    def _in_group(self, given: Input) -> str:
        """An input that has to do with the node's neighbourhood."""
        text = f"{given.kind} {given.group}"
        if given.kind == "join":
            text += f" visit={given.visit} members={list(given.members)}"
        return text if given.letter is None else f"{text} {self.letter(given.letter, 'at the place')}"

    def outputs(self, outputs: list[Output]) -> str:
        """Outputs in order; the same message to several nodes is shown once."""
        listed = []
        for letter, alike in groupby(outputs, lambda one: one.letter):
            some = list(alike)
            if letter is None:
                listed += [self._output(one) for one in some]
            else:
                peers = ", ".join(str(one.peer) for one in some)
                listed.append(f"{some[0].kind} {self.letter(letter, f'to {peers}')}")
        return ", ".join(listed)

    def _output(self, output: Output) -> str:
        """An output that is not a message."""
        details = (output.timer, None if output.delay is None else _units(output.delay))
        return " ".join([output.kind, *(detail for detail in details if detail is not None)])

    def letter(self, letter: Letter | None, direction: str) -> str:
        """A message with the names of its fields, if it has as many as its class."""
        if letter is None:
            return f"a message {direction}"
        names = self._names.get(letter.type, [])
        shown = [_shown(value) for value in letter.fields]
        if len(names) == len(shown):
            shown = [f"{name}={value}" for name, value in zip(names, shown, strict=True)]
        return f"{letter.type} {direction}" + (f" ({', '.join(shown)})" if shown else "")

    def changes(self, changes: dict[str, Any]) -> Iterator[str]:
        """New values; for a mapping, the entries that changed."""
        for name, new in changes.items():
            old = self._state.get(name)
            self._state[name] = new
            if isinstance(old, dict) and isinstance(new, dict):
                for key in [*new, *(key for key in old if key not in new)]:
                    if key not in new:
                        yield f"{name}[{_shown(key)}] gone"
                    elif key not in old or old[key] != new[key]:
                        yield f"{name}[{_shown(key)}]={_shown(new[key])}"
            else:
                yield f"{name}={_shown(new)}"


def _units(ticks: int) -> str:
    """Ticks as time units with all digits, in the form that --until takes."""
    whole, rest = divmod(ticks, TICKS)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


def _error(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"


def _shown(value: Any) -> str:
    """A value as text."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Random):
        return f"random generator {_digest(value)}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_shown(key)}: {_shown(item)}' for key, item in value.items())}}}"
    if isinstance(value, (list, deque)):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)


# -- JSON -------------------------------------------------------------------------------------------------------------


def as_dict(replay: NodeReplay) -> dict[str, Any]:
    """The whole replay; times in time units."""
    return {
        "run_dir": str(replay.path),
        "repetition": replay.repetition,
        "node": replay.node,
        "algorithm": replay.scenario.algorithm.name,
        "logs": [str(file.relative_to(replay.path)) for file in replay.log.files],
        "steps": [_step(step) for step in replay.steps],
        "state": _plain(replay.state),
        "differences": [_step_difference(index, step) for index, step in enumerate(replay.steps) if step.differs],
        "missing": replay.missing,
    }


def _step(step: Step) -> dict[str, Any]:
    given = step.given
    return {
        "t": given.t / TICKS,
        "input": {
            "kind": given.kind,
            **_known(given.peer, given.letter, given.timer),
            **_plain(given.demand or {}),
            **({} if given.group is None else {"group": given.group}),
            **({} if given.visit is None else {"visit": given.visit, "members": _plain(given.members)}),
        },
        "outputs": [_output(output) for output in step.outputs],
        "changes": _plain(step.changes),
        "raised": None if step.raised is None else _error(step.raised),
        "differs": step.differs,
    }


def _step_difference(index: int, step: Step) -> dict[str, Any]:
    found = step.difference
    return {
        "step": index,
        "t": step.given.t / TICKS,
        "recorded": None if found is None or found.recorded is None else _output(found.recorded),
        "now": None if found is None or found.now is None else _output(found.now),
        "raised": None if step.raised is None else _error(step.raised),
    }


def _output(output: Output) -> dict[str, Any]:
    delay = {} if output.delay is None else {"delay": output.delay / TICKS}
    return {"kind": output.kind, **_known(output.peer, output.letter, output.timer), **delay}


def _known(peer: int | None, letter: Letter | None, timer: str | None) -> dict[str, Any]:
    """Those of the three that an input or output has."""
    known: dict[str, Any] = {} if peer is None else {"peer": peer}
    if letter is not None:
        known |= {"type": letter.type, "fields": _plain(letter.fields)}
    return known if timer is None else {**known, "name": timer}


def _plain(value: Any) -> Any:
    """A value for JSON."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, (int, float, str, type(None))):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, deque)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(item) for item in value), key=repr)
    if isinstance(value, Random):
        return _digest(value)
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return repr(value)


def _digest(generator: Random) -> str:
    """A short hash of a generator's state, which is long; it changes with every draw."""
    return hashlib.sha256(repr(generator.getstate()).encode()).hexdigest()[:8]
