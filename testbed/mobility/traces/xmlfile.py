"""XML files within bounds: the starts and ends of elements, and no tree.

Expat is used directly, because it knows the line of every element and allows refusing a document type before it
declares an entity. The encoding in the declaration at the top is ignored: files are UTF-8, as all others here, or
UTF-16, which expat detects by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from xml.parsers import expat

from testbed.errors import InputError
from testbed.mobility.traces import limits
from testbed.mobility.traces.source import Source

MAX_WORDS = 10_000  # different tags and attributes: expat keeps each until the end of the file
MAX_TEXT = 1000  # characters of an element's text that are kept; only names and numbers are used


class Element(NamedTuple):
    """The start of an element, or its end, when its text is known. The path leads from the root to its tag."""

    path: tuple[str, ...]
    ends: bool
    attributes: dict[str, str]
    text: str


def elements(source: Source, root: str) -> Iterator[Element]:
    """The elements of a file with that root, without the prefixes of their tags."""
    parser = _Parser(source, root)
    for chunk in source.chunks():
        yield from parser.feed(chunk)
    yield from parser.feed(b"", last=True)


@dataclass(slots=True)
class _Open:
    """An element whose end has not been read yet."""

    path: tuple[str, ...]
    text: str = ""


class _Parser:
    """Turns expat's calls into elements, each with the line it is on."""

    def __init__(self, source: Source, root: str) -> None:
        self._source = source
        self._root = root
        self._fed = 0
        self._begun = 0
        self._words: set[str] = set()
        self._open: list[_Open] = []
        self._ready: list[tuple[int, Element]] = []
        self._expat = expat.ParserCreate("utf-8")
        self._expat.buffer_text = True
        self._expat.StartDoctypeDeclHandler = self._on_doctype
        self._expat.StartElementHandler = self._on_start
        self._expat.EndElementHandler = self._on_end
        self._expat.CharacterDataHandler = self._on_text

    def feed(self, chunk: bytes, last: bool = False) -> Iterator[Element]:
        """The elements that the next bytes complete."""
        self._fed += len(chunk)
        try:
            self._expat.Parse(chunk, last)
        except expat.ExpatError as error:
            self._source.line = error.lineno
            raise self._source.error(f"not XML: {expat.ErrorString(error.code)}") from None
        ready, self._ready = self._ready, []
        for line, element in ready:
            self._source.line = line
            yield element
        if self._fed - self._expat.CurrentByteIndex > limits.MAX_LINE_BYTES:
            raise self._error(f"a tag or comment of more than {limits.MAX_LINE_BYTES} bytes")

    def _error(self, found: str, allowed: str = "") -> InputError:
        self._source.line = self._expat.CurrentLineNumber
        return self._source.error(found, allowed)

    def _on_doctype(self, *_: object) -> None:
        raise self._error("a document type, which might declare entities", "elements only")

    def _on_start(self, tag: str, attributes: dict[str, str]) -> None:
        plain = tag.rpartition(":")[2]
        path = (*self._open[-1].path, plain) if self._open else (plain,)
        if path[0] != self._root:
            raise self._error(f"<{plain[:40]}>", f"<{self._root}>")
        self._begun += 1
        if self._begun > limits.MAX_LINES:
            raise self._error(f"more than {limits.MAX_LINES} elements")
        self._words.update(attributes, (tag,))
        if len(self._words) > MAX_WORDS:
            raise self._error(f"more than {MAX_WORDS} different tags and attributes")
        if len(path) > limits.MAX_DEPTH:
            raise self._error(f"more than {limits.MAX_DEPTH} elements inside each other")
        self._open.append(_Open(path))
        self._ready.append((self._expat.CurrentLineNumber, Element(path, False, attributes, "")))

    def _on_end(self, _: str) -> None:
        closed = self._open.pop()
        self._ready.append((self._expat.CurrentLineNumber, Element(closed.path, True, {}, closed.text)))

    def _on_text(self, text: str) -> None:
        innermost = self._open[-1]
        innermost.text = (innermost.text + text)[:MAX_TEXT]
