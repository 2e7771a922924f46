"""The class of an algorithm: found by its name, and checked before anything runs with it.

An algorithm that cannot be used is an `AlgorithmError`: one line with the file, the line and the reason. It concerns
only itself; what goes through all algorithms reports it and goes on (`usable_algorithms`, `unusable_algorithms`).
"""

from __future__ import annotations

import dataclasses
import inspect
import traceback
from collections.abc import Iterator
from dataclasses import MISSING
from pathlib import Path
from typing import Any, get_type_hints
from weakref import WeakSet

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from agents.codec import Codec
from agents.contract import FAULTS, Agent, Needs, Parameters, Shares
from agents.groups import GroupAgent
from agents.message import Message
from agents.registry import ALGORITHMS, CannotImport
from testbed.errors import InputError, one_line
from testbed.input_errors import shown

RESERVED = ("name", "file", "label", "clusters")
"""Keys beside which a scenario, or a variant, has the parameters of an algorithm."""


class AlgorithmError(InputError):
    """An algorithm cannot be used. The text says where and why."""


def find_algorithm(name: str) -> type[Agent]:
    """The class that is registered under a name, checked; the name must be in `ALGORITHMS`."""
    try:
        agent = ALGORITHMS[name]
    except CannotImport as error:
        raise AlgorithmError(explain_import(error.__cause__ or error, str(error))) from None
    installed = ALGORITHMS.installed(name)
    return check_class(agent, name if installed is None else installed.place)


def usable_algorithms() -> dict[str, type[Agent]]:
    """All registered algorithms that can be used, by name."""
    return {name: agent for name, agent in _tried() if not isinstance(agent, AlgorithmError)}


def unusable_algorithms() -> dict[str, str]:
    """All registered algorithms that cannot be used: by name, the line that says why."""
    return {name: str(error) for name, error in _tried() if isinstance(error, AlgorithmError)}


def _tried() -> Iterator[tuple[str, type[Agent] | AlgorithmError]]:
    for name in ALGORITHMS:
        try:
            yield name, find_algorithm(name)
        except AlgorithmError as error:
            yield name, error


# -- places in files ---------------------------------------------------------------------------------------------------


def path_to_show(path: str | Path) -> str:
    """A path as the user would write it: from the current folder if it is below that."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def explain_import(error: BaseException, source: str, file: str | None = None) -> str:
    """Why a module cannot be imported, with the place: in `file` if it is given, else where the error was raised.

    `source` names the module if the error has no place.
    """
    if isinstance(error, SyntaxError) and error.filename is not None:
        return one_line(f"{path_to_show(error.filename)}:{error.lineno or 1}: {error.msg}")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_import_machinery(frame.filename)]
    place = next((frame for frame in reversed(frames) if file in (None, frame.filename)), None)
    where = source if place is None else f"{path_to_show(place.filename)}:{place.lineno}"
    reason = "sys.exit was called" if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
    return one_line(f"{where}: {reason}")


def _is_import_machinery(file: str) -> bool:
    """Whether a frame says only that something was imported."""
    return file.startswith("<frozen ") or Path(file).parts[-2:] in (
        ("importlib", "__init__.py"),
        ("agents", "registry.py"),
    )


def place_of(kind: type) -> str:
    """The file and the line in which a class is defined; its name if it is in no file."""
    try:
        return f"{path_to_show(inspect.getsourcefile(kind) or '')}:{inspect.getsourcelines(kind)[1]}"
    except (OSError, TypeError):
        return kind.__qualname__


# -- what a class must have --------------------------------------------------------------------------------------------

_checked: WeakSet[type[Agent]] = WeakSet()


def check_class(agent: Any, source: str) -> type[Agent]:
    """The class, if it is an algorithm that can run; `source` names it if it is no class. Each is checked once."""
    if not isinstance(agent, type) or not issubclass(agent, Agent):
        raise AlgorithmError(f"{source}: found {shown(agent)}; allowed: a class derived from agents.contract.Agent")
    if agent not in _checked:
        _check_declarations(agent)
        _check_methods(agent)
        _check_messages(agent)
        _check_parameters(agent)
        _checked.add(agent)
    return agent


def _wrong(kind: type, text: str) -> AlgorithmError:
    return AlgorithmError(one_line(f"{place_of(kind)}: {kind.__name__}: {text}"))


def _check_declarations(agent: type[Agent]) -> None:
    for key, enum in (("needs", Needs), ("shares", Shares)):
        if not isinstance(getattr(agent, key), enum):
            allowed = ", ".join(str(member) for member in enum)
            raise _wrong(agent, f"{key}: found {shown(getattr(agent, key))}; allowed: {allowed}")
    if not isinstance(agent.summary, str) or not agent.summary.isprintable():
        raise _wrong(agent, f"summary: found {shown(agent.summary)}; allowed: text of one line")
    if not isinstance(agent.survives, tuple) or not set(agent.survives) <= set(FAULTS):
        allowed = f"a tuple of {', '.join(map(repr, FAULTS))}"
        raise _wrong(agent, f"survives: found {shown(agent.survives)}; allowed: {allowed}")


def _check_methods(agent: type[Agent]) -> None:
    """Whether it has the methods that cannot be inherited."""
    needed = ["on_request", "on_release"]
    if agent.shares is Shares.TOKENS:
        needed.append("units")  # a property: how many units a node holds
    if agent.needs is Needs.GROUPS:
        if not issubclass(agent, GroupAgent):
            raise _wrong(agent, "needs Needs.GROUPS; allowed: for a class derived from agents.groups.GroupAgent")
        needed += ["initial_in", "first_deposit", "on_join", "on_leaving", "on_left"]
    bases = [base for base in (Agent, GroupAgent) if issubclass(agent, base)]
    for name in needed:
        if any(vars(base).get(name) is inspect.getattr_static(agent, name) for base in bases):
            raise _wrong(agent, f"found no {name}, which every algorithm must have{_why(name)}")


def _why(name: str) -> str:
    return " that shares tokens: how many units a node holds" if name == "units" else ""


def _check_messages(agent: type[Agent]) -> None:
    messages = agent.messages
    if not isinstance(messages, tuple | list):
        raise _wrong(agent, f"messages: found {shown(messages)}; allowed: a tuple of the classes of its messages")
    for message in messages:
        if not isinstance(message, type) or not issubclass(message, Message):
            allowed = "classes derived from agents.message.Message"
            raise _wrong(agent, f"messages: found {shown(message)}; allowed: {allowed}")
        if not _is_dataclass(message) or not message.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            raise _wrong(message, "a message; allowed: with @dataclass(frozen=True, slots=True)")
        _check_fields(message)
    names = [message.__name__ for message in messages]
    for name in names:
        if names.count(name) > 1:
            raise _wrong(agent, f"messages: found two named {name}; allowed: each name once")


def _check_fields(message: type[Message]) -> None:
    """Whether the codec knows the type of every field: one field at a time, so that the error can name it."""
    hints = _hints(message)
    for field in dataclasses.fields(message):  # type: ignore[arg-type]
        alone: Any = dataclasses.make_dataclass(message.__name__, [(field.name, hints[field.name])])
        try:
            Codec((alone,))
        except TypeError as error:
            raise _wrong(message, f"{field.name}: {error}") from None


def _check_parameters(agent: type[Agent]) -> None:
    declared = agent.parameters
    if not isinstance(declared, type) or not issubclass(declared, Parameters):
        allowed = "a dataclass derived from agents.contract.Parameters"
        raise _wrong(agent, f"parameters: found {shown(declared)}; allowed: {allowed}")
    if not _is_dataclass(declared):
        raise _wrong(declared, "parameters; allowed: with @dataclass(frozen=True)")
    hints = _hints(declared)
    for field in dataclasses.fields(declared):
        if field.name in RESERVED:
            raise _wrong(
                declared, f"{field.name}: found a parameter of this name; allowed: any but {', '.join(RESERVED)}"
            )
        if field.default is MISSING and field.default_factory is MISSING:
            raise _wrong(declared, f"{field.name}: found no default; allowed: a parameter with a default")
        try:
            TypeAdapter(hints[field.name])
        except PydanticUserError:
            allowed = "a type that YAML has, such as int, float, bool or str"
            raise _wrong(declared, f"{field.name}: found {hints[field.name]}; allowed: {allowed}") from None
    try:
        declared()
    except Exception as error:  # noqa: BLE001  (its __post_init__ may raise anything)
        raise _wrong(declared, f"its defaults are refused: {type(error).__name__}: {error}") from None


def _is_dataclass(kind: type) -> bool:
    """Whether a class was made by `dataclass`; it may also inherit all fields and add none."""
    return dataclasses.is_dataclass(kind) and (
        "__dataclass_fields__" in vars(kind) or not inspect.get_annotations(kind)
    )


def _hints(kind: type) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except Exception as error:  # noqa: BLE001  (annotations are code that is run only now)
        raise _wrong(kind, f"a type cannot be found: {error}") from None
