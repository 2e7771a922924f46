"""The parts of a report as HTML: sections, tables that can be sorted, verdicts, charts. All texts are escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from analysis.check import FAILED, INCONCLUSIVE, NOT_APPLICABLE, NOT_CHECKED, OK
from analysis.tables import number
from testbed.look.page import asset, page
from testbed.look.report.values import finite, line, name

STYLES = ("vendor/uplot/uPlot.min.css", "report/report.css")
SCRIPTS = (
    "report/sharp.js",
    "vendor/uplot/uPlot.iife.min.js",
    "report/charts.js",
    "report/tables.js",
    "report/explorer.js",
    "report/report.js",
)
LIVE_SCRIPT = "report/live.js"
LIVE_LINE = """<div class="live"><progress max="1" aria-label="Runs that are there"></progress>
<span><span class="live-line"></span> <code class="live-command"></code></span>
<span class="unseen live-said" role="status"></span></div>
"""
"""How far a sweep is, on a page that follows it."""
MARKS = {OK: ("good", "✓"), FAILED: ("bad", "✗"), INCONCLUSIVE: ("unsure", "?")}
"""The class and the sign of a verdict; others, such as `not checked`, are grey."""
OTHER_MARK = ("plain", "–")
MANY_COLUMNS = 8
"""A table with more has smaller letters on paper."""
SHORT = 24
"""Letters of a label that is not broken into lines."""
WORST_FIRST = (FAILED, INCONCLUSIVE, NOT_CHECKED, OK, NOT_APPLICABLE)


@dataclass(frozen=True)
class Cell:
    """A cell of a table: a text, and the number that it is sorted by, if it is one."""

    text: str
    value: float | None = None
    mark: str = ""
    """The class of a cell that says more than its text, such as `bad`."""


def number_cell(value: Any) -> Cell:
    """A number as tables show it; a dash for what was not measured."""
    known = finite(value)
    return Cell(number(known), known)


def interval_cell(mean: Any, half: Any) -> Cell:
    """A mean with the half width of its 95 % interval; it is sorted by the mean."""
    known, width = finite(mean), finite(half)
    return Cell(number(known) if width is None else f"{number(known)} ± {number(width)}", known)


def verdict_cell(word: str) -> Cell:
    """A verdict; sorted by how bad it is."""
    place = WORST_FIRST.index(word) if word in WORST_FIRST else len(WORST_FIRST)
    kind, sign = MARKS.get(word, OTHER_MARK)
    return Cell(f"{sign} {name(word)}", float(place), kind)


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[Cell]], *, labels: int = 1) -> str:
    """A table whose columns a reader can sort by. The first columns are labels, the others are numbers."""
    head = "".join(
        f'<th scope="col" aria-sort="none"{_class("label" if index < labels else "")}>'
        f'<button type="button">{escape(line(text))}</button></th>'
        for index, text in enumerate(header)
    )
    kind = "sortable many" if len(header) > MANY_COLUMNS else "sortable"
    body = "".join(f"<tr>{''.join(_cell(index, one, labels) for index, one in enumerate(row))}</tr>\n" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table class="{kind}">'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>\n"
    )


def _cell(index: int, cell: Cell, labels: int) -> str:
    value = "" if cell.value is None else f' data-value="{cell.value!r}"'
    is_short = index < labels and len(cell.text) <= SHORT
    words = ("label" if index < labels else "", "short" if is_short else "", cell.mark)
    classes = _class(" ".join(filter(None, words)))
    tag, scope = ("th", ' scope="row"') if index == 0 else ("td", "")
    return f"<{tag}{scope}{classes}{value}><bdi>{escape(cell.text)}</bdi></{tag}>"


def _class(words: str) -> str:
    return f' class="{words}"' if words else ""


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and what is known of them."""
    rows = "".join(f"<dt>{escape(key)}</dt><dd><bdi>{escape(value)}</bdi></dd>\n" for key, value in pairs)
    return f'<dl class="facts">{rows}</dl>\n'


def badge(word: str) -> str:
    """A verdict as a word with a sign, so that it needs no colour."""
    kind, sign = MARKS.get(word, OTHER_MARK)
    return f'<span class="badge {kind}"><span aria-hidden="true">{sign}</span> {escape(name(word))}</span>'


def command(text: str) -> str:
    """A command that a reader can copy."""
    return f'<pre class="command"><code>{escape(text)}</code></pre>'


def paragraph(text: str, kind: str = "") -> str:
    """A line of text."""
    return f"<p{_class(kind)}><bdi>{escape(text)}</bdi></p>\n"


def notes(texts: Iterable[str], kind: str = "note") -> str:
    """Lines that a reader must not miss."""
    return "".join(paragraph(line(text), kind) for text in texts)


def folded(summary: str, body: str) -> str:
    """What is shown only if a reader asks for it."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>\n"


def preformatted(text: str) -> str:
    """A text as it is."""
    return f'<pre class="text" tabindex="0">{escape(text)}</pre>\n'


@dataclass(frozen=True)
class Series:
    """One line, or the bars of one colour."""

    label: str
    values: Sequence[float | None]
    halves: Sequence[float | None] | None = None
    """Half the width of the interval of every value."""
    look: str = ""
    """`bold`, `each` for one of many that can be hidden together, or `bound` for a line that others must stay below."""

    def as_dict(self) -> dict[str, Any]:
        """For the script."""
        document = {"label": self.label, "values": self.values, "halves": self.halves, "look": self.look}
        return {key: value for key, value in document.items() if value}


@dataclass(frozen=True)
class Chart:
    """What a script draws, and shows as a table if a reader asks for it."""

    title: str
    kind: str
    """`lines`, `steps` or `bars`."""
    x_label: str
    y_label: str
    x: Sequence[float | str]
    """Places on the x axis; names for bars."""
    series: Sequence[Series]
    note: str = ""
    marks: Sequence[tuple[float, str]] = ()
    """Instants that concern everything, such as a crash."""

    def as_dict(self) -> dict[str, Any]:
        """For the script."""
        return {
            "title": self.title,
            "kind": self.kind,
            "xLabel": self.x_label,
            "yLabel": self.y_label,
            "x": self.x,
            "series": [one.as_dict() for one in self.series],
            "marks": [{"x": place, "label": label} for place, label in self.marks],
        }


@dataclass(frozen=True)
class Missing:
    """A chart that cannot be drawn, and why."""

    title: str
    why: str


@dataclass
class Report:
    """A page that grows: sections in their order, and what the scripts draw."""

    title: str
    kind: str
    """What is reported: a run, a comparison, a study."""
    subtitle: str = ""
    lead: str = ""
    """HTML below the title."""
    sections: list[tuple[str, str, str]] = field(default_factory=list)
    """The id, the title and the HTML of each."""
    charts: list[dict[str, Any]] = field(default_factory=list)
    explorer: dict[str, Any] | None = None

    def add(self, id: str, title: str, body: str) -> None:
        """Add a section; one without a body is left out."""
        if body:
            self.sections.append((id, title, body))

    def figure(self, chart: Chart | Missing) -> str:
        """A place for a chart, or a line that says why there is none."""
        if isinstance(chart, Missing):
            return f'<p class="missing"><strong>{escape(chart.title)}:</strong> {escape(chart.why)}</p>\n'
        self.charts.append(chart.as_dict())
        note = f'<p class="about">{escape(chart.note)}</p>' if chart.note else ""
        return (
            f'<figure class="chart" data-chart="{len(self.charts) - 1}">'
            f"<figcaption>{escape(chart.title)}</figcaption>{note}</figure>\n"
        )

    def figures(self, charts: Iterable[Chart | Missing]) -> str:
        """Charts side by side, and below them a line for each that cannot be drawn."""
        charts = list(charts)
        drawn = "".join(self.figure(one) for one in charts if isinstance(one, Chart))
        missing = "".join(self.figure(one) for one in charts if isinstance(one, Missing))
        return (f'<div class="charts">{drawn}</div>\n' if drawn else "") + missing

    def parts(self) -> dict[str, Any]:
        """What changes when there are more results: the HTML of some elements, and what the chart is drawn from."""
        contents = "".join(f'<li><a href="#{id}">{escape(title)}</a></li>' for id, title, _ in self.sections)
        body = "".join(
            f'<section id="{id}" aria-labelledby="{id}-title">'
            f'<h2 id="{id}-title">{escape(title)}</h2>\n{html}</section>\n'
            for id, title, html in self.sections
        )
        subtitle = f'<p class="subtitle"><bdi>{escape(self.subtitle)}</bdi></p>' if self.subtitle else ""
        kind, title = escape(self.kind), escape(self.title)
        return {
            "header": f'<div class="kind">{kind}</div><h1><bdi>{title}</bdi></h1>\n{subtitle}{self.lead}',
            "contents": contents,
            "main": body,
            "explorer": self.explorer,
        }

    def html(self, live: Mapping[str, Any] | None = None) -> str:
        """The whole page. With `live`, which is for `live.js`, it asks the server that it comes from for more."""
        parts = self.parts()
        return page(
            f"{self.title} – {self.kind}",
            f"""<header>{parts["header"]}</header>
<nav class="noprint" aria-label="Sections">{"" if live is None else LIVE_LINE}<ul>{parts["contents"]}</ul>\
<button type="button" id="theme">Dark</button></nav>
<noscript><p class="note">Without scripts there are no charts, and tables cannot be sorted.</p></noscript>
<main>{parts["main"]}</main>
<footer>{folded("Charts are drawn with uPlot (MIT licence)", preformatted(asset("vendor/uplot/LICENSE")))}</footer>""",
            styles=STYLES,
            scripts=SCRIPTS if live is None else (*SCRIPTS, LIVE_SCRIPT),
            data={"charts": self.charts, "explorer": self.explorer, **({} if live is None else {"live": live})},
            may_fetch=live is not None,
        )
