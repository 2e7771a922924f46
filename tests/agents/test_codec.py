"""The codec on every shape that can be declared, and on bytes that spell nothing."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.codec import MAX_BITS, Codec
from agents.errors import PeerError
from agents.message import Message, fixed_words


@dataclass(frozen=True, slots=True)
class Everything(Message):
    """One field of each shape."""

    number: int
    flag: bool
    maybe: int | None
    pair: tuple[int, bool]
    many: tuple[tuple[int, int | None], ...]


@dataclass(frozen=True, slots=True)
class Nothing(Message):
    """No fields."""


@dataclass(frozen=True, slots=True)
class Wrong(Message):
    """A field that cannot be declared."""

    text: str


CODEC = Codec((Everything, Nothing))
integers = st.integers(-(2 ** (MAX_BITS - 1)) + 1, 2 ** (MAX_BITS - 1) - 1)


@given(
    integers,
    st.booleans(),
    st.none() | integers,
    st.tuples(integers, st.booleans()),
    st.lists(st.tuples(integers, st.none() | integers)).map(tuple),
)
def test_round_trip(number, flag, maybe, pair, many):
    """Whatever can be declared comes back equal."""
    message = Everything(number, flag, maybe, pair, many)
    assert CODEC.decode(CODEC.encode(message)) == message


def test_bytes_are_compact():
    """A byte for the type, and one for a small number, whatever its sign."""
    assert CODEC.encode(Nothing()) == b"\x01"
    assert CODEC.encode(Everything(-1, True, None, (63, False), ())) == bytes([0, 1, 1, 0, 126, 0, 0])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x02",
        b"\x01\x00",
        b"\x00",
        b"\x00\x80",
        b"\x00\x80\x00\x00\x00\x00\x00\x00",
        b"\x00" + b"\xff" * 40,
        b"\x00\x00\x02",
        b"\x00\x00\x00\x00\x00\x00\xfe\xff\x03",
        b"\x00\x00\x00\x00\x00\x00\x01",
    ],
    ids=["empty", "no type", "after end", "cut", "cut int", "long form", "endless", "bool 2", "long list", "negative"],
)
def test_nonsense_is_refused(data):
    """Each kind of bytes that spell no message."""
    with pytest.raises(PeerError):
        CODEC.decode(data)


@given(st.binary(max_size=60))
def test_one_spelling_a_message(data):
    """Bytes that decode are the bytes that would be encoded: no second spelling to slip past a filter."""
    try:
        message = CODEC.decode(data)
    except PeerError:
        return
    assert CODEC.encode(message) == data


def test_what_does_not_fit_is_refused():
    """A number beyond the limit is the sender's mistake."""
    with pytest.raises(ValueError, match="does not fit"):
        CODEC.encode(Everything(2**200, True, None, (0, True), ()))
    with pytest.raises(TypeError, match="may be int, bool"):
        Codec((Wrong,))


def test_words():
    """Every integer is a word, and the header three; where tuples vary, so does the count."""
    assert Nothing().words == 3
    assert fixed_words(Nothing) == 3
    assert fixed_words(Everything) is None
    assert Everything(1, True, None, (2, False), ((1, 2), (3, None))).words == 3 + 1 + 1 + 1 + 2 + 4
