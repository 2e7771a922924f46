"""A page lets in nothing but its own scripts and styles, and data cannot leave their element."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.look.page import asset, embedded_json, page

SCRIPT = "report/report.js"


class Reader(HTMLParser):
    """The elements of a page, with their texts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self.elements.append(("", {}, ""))  # what follows is no text of that element

    def handle_data(self, data: str) -> None:
        if self.elements:
            tag, attributes, text = self.elements[-1]
            self.elements[-1] = (tag, attributes, text + data)

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        """The attributes and texts of all elements of a tag."""
        return [(attributes, text) for one, attributes, text in self.elements if one == tag]


def policy_of(html: str) -> dict[str, list[str]]:
    (found,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    return {words[0]: words[1:] for words in (part.split() for part in unescape(found).split("; "))}


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_policy_names_exactly_the_scripts_and_styles() -> None:
    html = page("title", "<p>body</p>", scripts=[SCRIPT], styles=["report/report.css"], data={"one": [1]})
    policy, read = policy_of(html), Reader(html)
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == [hash_of(text) for attributes, text in read.of("script") if "type" not in attributes]
    assert policy["style-src"] == [hash_of(text) for _, text in read.of("style")]
    assert policy["script-src"] == [hash_of(asset(SCRIPT))]
    assert (policy["base-uri"], policy["form-action"]) == (["'none'"], ["'none'"])
    assert "connect-src" not in policy, "default-src refuses every connection"


def test_a_page_without_scripts_allows_none() -> None:
    assert policy_of(page("title", ""))["script-src"] == ["'none'"]


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "<!--<script>", "]]>", "\u2028\u202e", "&lt;"])
def test_data_cannot_leave_their_element(text: str) -> None:
    html = page("title", "", data={"one": {text: [text]}})
    (attributes, found), *others = Reader(html).of("script")
    assert others == []
    assert attributes == {"type": "application/json", "id": "one"}
    assert json.loads(found) == {text: [text]}


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_data_come_back(value: object) -> None:
    text = embedded_json(value)
    assert not set("<>&") & set(text)
    assert json.loads(text) == value


def test_a_number_that_json_does_not_have() -> None:
    with pytest.raises(ValueError, match="JSON"):
        embedded_json(float("nan"))


def test_a_title_is_text() -> None:
    html = page("</title><script>alert(1)</script>", "")
    assert Reader(html).of("script") == []
    assert "&lt;/title&gt;" in html
