"""What agents say to each other: frozen dataclasses of integers, booleans, None and tuples of these.

The word count of a message and its bytes on the wire (`agents.codec`) both derive from the declaration.
"""

from dataclasses import MISSING, fields
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

HEADER_WORDS = 3  # source, destination and type travel with every message


class Message:
    """Base of every message. Subclasses are `@dataclass(frozen=True, slots=True)`."""

    __slots__ = ()

    units: ClassVar[int] = 0
    """Tokens, or free units, that the message carries. A class whose messages differ defines a property instead."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__dataclass_fields__" in vars(cls):  # `dataclass` is done, and has made the class anew to give it slots
            _quicken(cls)

    @property
    def words(self) -> int:
        """Size of the message in words: every integer in its fields, and the header."""
        values = tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
        return HEADER_WORDS + _words(values)


def _quicken(kind: type[Message]) -> None:
    """Let `__init__` set the fields by their slots.

    A frozen dataclass sets them by `object.__setattr__`, which takes longer than all else in making a message.
    """
    declared = fields(kind)  # type: ignore[arg-type]
    plain = all(field.init and not field.kw_only and field.default_factory is MISSING for field in declared)
    made = vars(kind).get("__init__")
    if made is None or not plain or hasattr(kind, "__post_init__"):
        return
    names = [field.name for field in declared]
    lines = [f"    set_{name}(self, {name})" for name in names] or ["    pass"]
    scope: dict[str, Any] = {f"set_{name}": getattr(kind, name).__set__ for name in names}
    exec("\n".join([f"def __init__({', '.join(['self', *names])}):", *lines]), scope)
    quick = scope["__init__"]
    quick.__defaults__, quick.__annotations__ = made.__defaults__, made.__annotations__
    quick.__qualname__ = made.__qualname__
    kind.__init__ = quick  # type: ignore[method-assign]


def _words(value: object) -> int:
    if isinstance(value, tuple):
        return sum(_words(item) for item in value)
    return 1


def fixed_words(kind: type[Message]) -> int | None:
    """The word count of every message of a class, or None where it depends on the message."""
    hints = get_type_hints(kind)
    counts = [_fixed(hints[field.name]) for field in fields(kind)]  # type: ignore[arg-type]
    return None if None in counts else HEADER_WORDS + sum(count or 0 for count in counts)


def _fixed(hint: object) -> int | None:
    if hint in (int, bool):
        return 1
    if get_origin(hint) is tuple and Ellipsis not in get_args(hint):
        counts = [_fixed(item) for item in get_args(hint)]
        return None if None in counts else sum(count or 0 for count in counts)
    return None
