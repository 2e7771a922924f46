"""What agents say to each other: frozen dataclasses of integers, booleans, None and tuples of these.

The word count of a message and its bytes on the wire (`agents.codec`) both derive from the declaration.
"""

from dataclasses import MISSING, Field, field, fields
from functools import cache
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

HEADER_WORDS = 3  # source, destination and type travel with every message
ADDED = {"added": True}
"""The metadata of a field that the printed algorithm does not have."""


def added() -> Any:
    """Declares a field that the printed algorithm does not have: a correction added it.

    The words of a message are counted as its paper counts them, without such fields (`words`); `added_words` are those
    of such fields.
    """
    return field(metadata=ADDED)


class Message:
    """Base of every message. Subclasses are `@dataclass(frozen=True, slots=True)`."""

    __slots__ = ()

    units: ClassVar[int] = 0
    """Units of the resource that the message carries. A class whose messages differ defines a property instead."""
    tokens: ClassVar[int | None] = None
    """Tokens that the message carries; None for as many as units. A token without free units is still a token."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__dataclass_fields__" in vars(cls):  # `dataclass` is done, and has made the class anew to give it slots
            _quicken(cls)

    @property
    def words(self) -> int:
        """Size of the message in words, as its paper counts them: every integer in its fields, and the header."""
        return HEADER_WORDS + _words(tuple(getattr(self, one.name) for one in _declared(type(self), added=False)))  # type: ignore[arg-type]

    @property
    def added_words(self) -> int:
        """Size of the fields that a correction added, in words."""
        return _words(tuple(getattr(self, one.name) for one in _declared(type(self), added=True)))  # type: ignore[arg-type]


@cache
def _declared(kind: type[Message], *, added: bool) -> tuple["Field[Any]", ...]:
    """The fields of a class of messages: those of the paper, or those that a correction added."""
    return tuple(one for one in fields(kind) if bool(one.metadata) == added)  # type: ignore[arg-type]


def _quicken(kind: type[Message]) -> None:
    """Let `__init__` set the fields by their slots.

    A frozen dataclass sets them by `object.__setattr__`, which takes longer than all else in making a message.
    """
    all_fields = fields(kind)  # type: ignore[arg-type]
    plain = all(one.init and not one.kw_only and one.default_factory is MISSING for one in all_fields)
    made = vars(kind).get("__init__")
    if made is None or not plain or hasattr(kind, "__post_init__"):
        return
    names = [one.name for one in all_fields]
    lines = [f"    set_{name}(self, {name})" for name in names] or ["    pass"]
    scope: dict[str, Any] = {f"set_{name}": getattr(kind, name).__set__ for name in names}
    exec("\n".join([f"def __init__({', '.join(['self', *names])}):", *lines]), scope)
    quick = scope["__init__"]
    quick.__defaults__, quick.__annotations__ = made.__defaults__, made.__annotations__
    quick.__qualname__ = made.__qualname__
    kind.__init__ = quick  # type: ignore[method-assign]


def tokens_of(message: Message) -> int:
    """How many tokens a message carries."""
    return message.units if message.tokens is None else message.tokens


def is_conserved(message: Message) -> bool:
    """Whether a message carries units or a token, and must not be lost."""
    return bool(message.units or message.tokens)


def _words(value: object) -> int:
    if isinstance(value, tuple):
        return sum(_words(item) for item in value)
    return 1


def fixed_words(kind: type[Message]) -> int | None:
    """The word count of every message of a class, or None where it depends on the message."""
    words = _fixed_words_of(kind, added=False)
    return None if words is None else HEADER_WORDS + words


def fixed_added_words(kind: type[Message]) -> int | None:
    """The same for the fields that a correction added."""
    return _fixed_words_of(kind, added=True)


def _fixed_words_of(kind: type[Message], *, added: bool) -> int | None:
    hints = get_type_hints(kind)
    counts = [_fixed(hints[one.name]) for one in _declared(kind, added=added)]  # type: ignore[arg-type]
    return None if None in counts else sum(count or 0 for count in counts)


def _fixed(hint: object) -> int | None:
    if hint in (int, bool):
        return 1
    if get_origin(hint) is tuple and Ellipsis not in get_args(hint):
        counts = [_fixed(item) for item in get_args(hint)]
        return None if None in counts else sum(count or 0 for count in counts)
    return None
