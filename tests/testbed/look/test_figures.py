"""`testbed figure RUN`: the charts of the report, drawn for papers, with texts that never touch."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("seaborn")

from matplotlib.figure import Figure
from matplotlib.text import Text

from analysis.figures import STYLES
from analysis.load import load_run
from testbed.cli.main import main
from testbed.look.report.blocks import Chart, Missing, Series
from testbed.look.report.printed import draw_chart, make_chart
from testbed.look.report.run_sections import CHARTS, begun_repetitions, chart_name, chart_sections, read_logs
from tests.testbed.look.test_report import Page
from tests.testbed.tiny import is_one_line, only_run, write_tiny

Invoke = Callable[..., tuple[int, str, str]]
EVERYTHING = "trace: events\nrepeat: 3\nwarmup: 10\nfaults:\n  - {at: 60, kind: crash, node: 3}\nexpect: {}\n"
LINE = "{kind: explicit, links: [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7]]}"  # without node 3, two pieces


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Call `testbed` in this process; gives the exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(map(str, arguments)))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def made(folder: Path, more: str, **changes: str | None) -> Path:
    """The directory of a run."""
    assert main(["run", str(write_tiny(folder, more, **changes)), "--out", str(folder / "runs")]) in (0, 1)
    return only_run(folder / "runs")


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which every chart can be drawn."""
    return made(tmp_path_factory.mktemp("run"), EVERYTHING, nodes="8", duration="200", topology=LINE)


@pytest.fixture
def run(run_once: Path, tmp_path: Path) -> Path:
    """A copy of it, for tests that change it."""
    return Path(shutil.copytree(run_once, tmp_path / "run"))


def charts_of(run: Path, repetition: int | None = None) -> list[Chart | Missing]:
    logs = read_logs(begun_repetitions(load_run(run)), repetition)
    return [chart for section in chart_sections(logs) for chart in section.charts]


def drawn_of(run: Path) -> list[Chart]:
    return [chart for chart in charts_of(run) if isinstance(chart, Chart)]


def panel_of(figure: Figure) -> Any:
    (axis,) = figure.axes
    return axis


def refused(invoke: Invoke, *arguments: object) -> str:
    """The only line of a figure that is not made."""
    code, out, err = invoke("figure", *arguments)
    assert (code, out) == (2, "")
    assert is_one_line(err), err
    return err


# -- what is drawn -----------------------------------------------------------------------------------------------------


def test_every_chart_of_the_report_has_its_name(run_once: Path) -> None:
    assert tuple(chart_name(chart) for chart in charts_of(run_once)) == CHARTS
    assert len(drawn_of(run_once)) == len(CHARTS)


def test_figures_have_the_numbers_of_the_report(run: Path, invoke: Invoke) -> None:
    """Compared with what the page draws: every line point by point, every bar, every instant."""
    code, out, _ = invoke("report", run, "--repetition", 1)
    assert code == 0
    page = Page(Path(out.rstrip("\n")).read_text(encoding="utf-8"))
    shown = {chart["title"]: chart for chart in page.data["charts"]}
    assert len(shown) == len(CHARTS)
    for chart in charts_of(run, 1):
        assert isinstance(chart, Chart)
        expected = shown[chart.title]
        axis = panel_of(make_chart(chart, "paper-page"))
        lines = [line for line in axis.lines if len(line.get_xdata()) == len(chart.x) != 2]
        if chart.kind == "bars":
            found = [[None if math.isnan(bar.get_height()) else bar.get_height() for bar in axis.patches]]
        else:
            found = [[None if math.isnan(y) else y for y in line.get_ydata()] for line in lines]
            assert all(list(line.get_xdata()) == expected["x"] for line in lines)
        assert found == [series["values"] for series in expected["series"]], chart.title
        instants = {line.get_xdata()[0] for line in axis.lines if line not in lines}
        assert instants == {mark["x"] for mark in expected["marks"]}
        assert (chart.kind == "lines") is bool(instants)


def test_the_repetition_is_the_one_that_is_asked_for(run_once: Path) -> None:
    one, other = (charts_of(run_once, number) for number in (0, 2))
    assert charts_of(run_once) == one
    differs = {chart_name(a): a != b for a, b in zip(one, other, strict=True)}
    assert not differs["waiting-times"], "it shows all repetitions"
    assert differs["entries-by-node"]
    assert differs["messages-by-type"]


def test_lines_differ_without_colour(run_once: Path) -> None:
    for chart in drawn_of(run_once):
        axis = panel_of(make_chart(chart, "paper-column"))
        usual = [line for line in axis.lines if len(line.get_xdata()) > 2 and line.get_color() != "0.65"]
        looks = {(line.get_marker(), str(line._unscaled_dash_pattern), line.get_linewidth()) for line in usual}
        assert len(looks) == len(usual), chart.title


def test_lines_of_repetitions_share_a_name(run_once: Path) -> None:
    figure = make_chart(drawn_of(run_once)[0], "paper-column")
    assert len(panel_of(figure).lines) == 1 + 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["all repetitions", "each repetition"]


def test_an_axis_says_what_is_counted(run_once: Path) -> None:
    """There is no title."""
    labels = {}
    for chart in drawn_of(run_once):
        figure = make_chart(chart, "slide")
        labels[chart_name(chart)] = panel_of(figure).get_ylabel().replace("\n", " ")
        assert not figure.get_suptitle()
        assert not panel_of(figure).get_title()
    assert labels["units-in-use"] == "units in use"
    assert labels["requests-pending"] == "pending requests"
    assert labels["mean-degree"] == "mean degree (links per node)"
    assert labels["entries-by-node"] == "entries"


# -- sizes and texts ---------------------------------------------------------------------------------------------------


def texts_of(figure: Figure) -> list[Text]:
    """Every text that is seen."""
    axis = panel_of(figure)
    scales = []
    for scale, (low, high) in ((axis.xaxis, axis.get_xlim()), (axis.yaxis, axis.get_ylim())):
        scales += [tick.label1 for tick in scale.get_major_ticks() if low <= tick.get_loc() <= high]
    legends = [text for legend in figure.legends for text in legend.get_texts()]
    return [text for text in [*scales, *legends, *axis.texts, axis.xaxis.label, axis.yaxis.label] if text.get_text()]


def assert_texts_are_apart(figure: Figure) -> None:
    """No text touches another or leaves the figure, and the panel keeps its height."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), Text.get_window_extent(text)) for text in texts_of(figure)]
    for (first, a), (second, b) in combinations(boxes, 2):
        is_apart = a.x1 <= b.x0 + 0.5 or b.x1 <= a.x0 + 0.5 or a.y1 <= b.y0 + 0.5 or b.y1 <= a.y0 + 0.5
        assert is_apart, (first, second)
    for name, box in boxes:
        assert box.x0 >= -1, name
        assert box.y0 >= -1, name
        assert box.x1 <= figure.bbox.width + 1, name
        assert box.y1 <= figure.bbox.height + 1, name
    assert panel_of(figure).bbox.height > 0.35 * figure.bbox.height


def over_time(labels: Sequence[str], marks: Sequence[tuple[float, str]], points: int = 200, end: float = 600) -> Chart:
    x: list[float | str] = [end * (index + 0.5) / points for index in range(points)]
    values = [[float((place * 7 + index * 13) % 97) for place in range(points)] for index in range(len(labels))]
    series = [Series(label, one) for label, one in zip(labels, values, strict=True)]
    return Chart("Messages by type", "lines", "time (time units)", "messages per time unit", x, series, marks=marks)


def by_node(heights: Sequence[float | None]) -> Chart:
    names: list[float | str] = [str(node) for node in range(len(heights))]
    series = [Series("mean", heights)]
    return Chart("Waiting time by node", "bars", "node", "mean waiting time (time units)", names, series)


CROWD = [(300 + 0.5 * index, f"node {index} crashes") for index in range(6)]
HOSTILE = [r"$\none$", r"\frac{", "a_b^c", "<b>&amp;", "\u4f60\u597d", "\u05d0\u05d1\u05d2", "W" * 80]
MADE = {
    "seven types": over_time([f"MessageOfType{index}" for index in range(7)], []),
    "long names": over_time(["n" * 79, "W" * 80], [(50, "W" * 80), (590, "i" * 80)]),
    "hostile names": over_time(HOSTILE, [(50 * index, label) for index, label in enumerate(HOSTILE)]),
    "instants at the same time": over_time(["Token"], [(300, f"node {index} crashes") for index in range(13)]),
    "instants side by side": over_time(["Token", "Request"], CROWD),
    "instants at the ends": over_time(["Token"], [(0, "begins"), (1, "the warmup ends"), (599, "ends"), (600, "end")]),
    "instants after the last point": over_time(["Token"], [(603, "node 1 crashes")]),
    "a long time": over_time(["Token"], [(3e8, "node 1 crashes")], end=1e9),
    "a short time": over_time(["Token"], [], end=3e-7),
    "one point": over_time(["Token", "Request"], [(300, "node 1 crashes")], points=1),
    "nothing": over_time(["Token"], [], points=2),
    "one node": by_node([3.0]),
    "a thousand nodes": by_node([float(node % 17) for node in range(1000)]),
    "nodes without": by_node([None, 2e7, None]),
    "no node at all": by_node([None, None]),
    "no waiting": Chart("Waiting times", "steps", "time", "share", [0.0], [Series("all", [1.0], look="bold")]),
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", MADE)
def test_texts_of_odd_charts_never_touch(name: str, style: str, recwarn: pytest.WarningsRecorder) -> None:
    assert_texts_are_apart(make_chart(MADE[name], style))
    assert [str(one.message) for one in recwarn] == []


@pytest.mark.parametrize("style", STYLES)
def test_texts_of_a_run_never_touch(run_once: Path, style: str) -> None:
    for chart in drawn_of(run_once):
        assert_texts_are_apart(make_chart(chart, style))


@pytest.mark.parametrize("name", ["instants side by side", "instants at the same time"])
def test_every_instant_has_its_label(name: str) -> None:
    """They are read from above in the order of the chart."""
    figure = make_chart(MADE[name], "paper-column")
    figure.draw_without_rendering()
    written = [text for text in panel_of(figure).texts if text.get_text()]
    from_above = sorted(written, key=lambda text: -float(Text.get_window_extent(text).y0))
    assert [text.get_text() for text in from_above] == [label for _, label in MADE[name].marks]


def test_no_line_to_a_label_crosses_another() -> None:
    """Labels begin at their line, and the line of each is left of all labels below it."""
    marks = [(100, "the warmup ends"), (120, "node 1 crashes"), (125, "node 2 crashes"), (200, "node 1 restarts")]
    figure = make_chart(over_time(["Token"], marks), "paper-column")
    figure.draw_without_rendering()
    axis = panel_of(figure)
    boxes = [Text.get_window_extent(text) for text in axis.texts if text.get_text()]
    for (place, _), own in zip(marks, boxes, strict=True):
        at = axis.transData.transform((place, 0))[0]
        assert at < own.x0 < at + 3
        crossed = [box for box in boxes if box.x0 + 1 < at < box.x1 and box.y1 <= own.y0 + 1]
        assert not crossed


def test_no_name_is_left_out() -> None:
    """Neither one that begins with an underscore nor one that is there twice."""
    names = ["_Ack", "Token", "Token", ""]
    figure = make_chart(over_time(names, []), "paper-column")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == names


def test_hostile_names_are_drawn_as_text() -> None:
    """No mathematics, no box for a letter that the font lacks, and what is long is cut."""
    figure = make_chart(MADE["hostile names"], "paper-column")
    texts = figure.legends[0].get_texts()
    shown = [text.get_text() for text in texts]
    assert shown[:4] == HOSTILE[:4]
    assert shown[4:6] == [r"\u4f60\u597d", "\u05d0\u05d1\u05d2"]
    assert shown[6].startswith("WWWWWWWWWW")
    assert shown[6].endswith("…")
    assert not any(text.get_parse_math() for text in [*texts, *panel_of(figure).texts] if text.get_text())


@pytest.mark.parametrize(("style", "width"), [("paper-column", 3.5), ("paper-page", 7.0), ("slide", 10.0)])
def test_widths_are_those_of_papers(run_once: Path, tmp_path: Path, style: str, width: float) -> None:
    from matplotlib import image

    for chart in drawn_of(run_once)[:2]:
        draw_chart(chart, style, [tmp_path / "chart.png"])
        assert image.imread(tmp_path / "chart.png").shape[1] == round(width * (200 if style == "slide" else 300))


# -- the command -------------------------------------------------------------------------------------------------------


def test_a_folder_gets_every_chart_in_every_format(run: Path, tmp_path: Path, invoke: Invoke) -> None:
    """Fonts are embedded as TrueType, and the same run gives the same bytes."""
    code, out, err = invoke("figure", run, "--out", tmp_path / "one")
    assert (code, err) == (0, "")
    files = [tmp_path / f"one/run-{name}.{suffix}" for name in CHARTS for suffix in ("png", "svg", "pdf")]
    assert out == "".join(f"{file}\n" for file in files)
    assert sorted((tmp_path / "one").iterdir()) == sorted(files)
    assert invoke("figure", run, "--out", tmp_path / "two")[0] == 0
    for file in files:
        written = file.read_bytes()
        assert written == (tmp_path / "two" / file.name).read_bytes()
        if file.suffix == ".pdf":
            assert written.startswith(b"%PDF")
            assert b"/FontFile2" in written
            assert b"/Type3" not in written


def test_charts_that_are_chosen(run: Path, tmp_path: Path, invoke: Invoke) -> None:
    """One goes into one file; another repetition has other files, unless the chart shows all of them."""
    one = tmp_path / "new/degree.pdf"
    twice = ("--chart", "mean-degree", "--chart", "mean-degree")
    assert invoke("figure", run, *twice, "--out", one) == (0, f"{one}\n", "")
    chosen = ("--chart", "waiting-times", "--chart", "units-in-use", "--chart", "waiting-times", "--style", "slide")
    code, out, err = invoke("figure", run, *chosen, "--repetition", 2, "--out", tmp_path / "some")
    assert (code, err) == (0, "")
    names = [Path(line).name for line in out.splitlines() if line.endswith("pdf")]
    assert names == ["run-waiting-times.pdf", "run-units-in-use-rep-002.pdf"]


def test_what_the_log_lacks(tmp_path: Path, invoke: Invoke) -> None:
    """One note for each chart; if there is nothing to draw, one line with all reasons."""
    run = made(tmp_path, "trace: cs\n")
    code, out, err = invoke("figure", run, "--out", tmp_path / "figures")
    assert code == 0
    assert len(out.splitlines()) == 3 * 5
    notes = err.splitlines()
    assert len(notes) == 3
    assert "Messages by type: the log has no messages (trace: cs); run it with --set trace=events" in notes[0]
    assert "Components: the network was never partitioned" in notes[2]
    line = refused(invoke, run, "--chart", "mean-degree", "--chart", "components", "--out", tmp_path / "none")
    assert "nothing can be drawn: Mean degree: the log has no links (trace: cs)" in line
    assert "Components: the network was never partitioned" in line
    assert not (tmp_path / "none").exists()


def test_sections_of_which_nothing_can_be_drawn(run: Path, invoke: Invoke) -> None:
    """They have one reason for all their charts, which is given if one of them is chosen."""
    for log in run.glob("rep-*/events.jsonl"):
        first, *_ = log.read_text().splitlines()
        log.write_text(first + "\n")
    assert "Charts over time: nothing happened after the start" in refused(invoke, run, "--chart", "components")
    assert "Charts over time" not in refused(invoke, run, "--chart", "waiting-times")
    for log in run.glob("rep-*/events.jsonl"):
        log.unlink()
    assert "Charts: no repetition has a log" in refused(invoke, run, "--chart", "units-in-use")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--chart", "waiting"], "--chart: found waiting; allowed: waiting-times, messages-by-type, units-in-use"),
        (["--out", "all.pdf"], "--out all.pdf: found 8 charts; allowed: one --chart, or a folder"),
        (["--out", "all.jpg"], "--out all.jpg: found .jpg; allowed: .pdf, .svg, .png, or a folder"),
        (["--repetition", "3"], "--repetition: found 3; allowed: 0, 1, 2"),
        (["--y", "waiting_time"], "it is an option for studies"),
        (["--x", "nodes"], "it is an option for studies"),
        (["--hue", "nodes"], "it is an option for studies"),
        (["--col", "nodes"], "it is an option for studies"),
        (["--row", "nodes"], "it is an option for studies"),
        (["--where", "nodes=1"], "it is an option for studies"),
        (["--baseline", "rl"], "it is an option for studies"),
        (["--store", "x"], "it is an option for studies"),
    ],
)
def test_wrong_options(
    run_once: Path, tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, options: list[str], line: str
) -> None:
    """One line, exit code 2, and no file."""
    monkeypatch.chdir(tmp_path)
    found = refused(invoke, run_once, *options)
    assert line in found
    assert options[0] in found
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [["--chart", "waiting-times"], ["--repetition", "0"]])
def test_options_of_runs(tmp_path: Path, invoke: Invoke, options: list[str]) -> None:
    line = refused(invoke, tmp_path, *options)
    assert f"{options[0]}: {tmp_path} is not a run directory; it is an option for runs" in line


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("meta.json", "{"),
        ("summary.json", '{"metrics": {}'),
        ("rep-001/events.jsonl", '{"t":0,"kind":"enter"}\n'),
        ("rep-001/events.jsonl", "\x00\n\n"),
    ],
)
def test_a_directory_that_makes_no_sense(run: Path, tmp_path: Path, invoke: Invoke, file: str, content: str) -> None:
    (run / file).write_text(content)
    assert file in refused(invoke, run, "--out", tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_a_run_that_was_killed(run: Path, tmp_path: Path, invoke: Invoke) -> None:
    """What there is of it is drawn, and a note says that it is not all."""
    (run / "summary.json").unlink()
    log = run / "rep-001/events.jsonl"
    log.write_bytes(log.read_bytes()[:-30])
    code, out, err = invoke("figure", run, "--chart", "waiting-times", "--out", tmp_path / "a.svg")
    assert (code, out) == (0, f"{tmp_path / 'a.svg'}\n")
    assert "the run did not come to its end" in err
    assert is_one_line(err)


def test_hostile_runs(tmp_path: Path, invoke: Invoke, recwarn: pytest.WarningsRecorder) -> None:
    """Types of messages and the folder itself have names that no one should give."""
    run = made(tmp_path, "trace: events\n")
    names = ["A" * 10_000_000, "$\\none$ \\frac{", "<img src=x>\n\x00\x1b[1m", "\u202egnp.exe", "\ud800", "\u4f60"]
    log, types = run / "rep-000/events.jsonl", dict[tuple[int, int, int], str]()
    events = [json.loads(line) for line in log.read_text().splitlines()]
    for event in events:
        if event["kind"] in ("send", "recv"):
            ends = (event["node"], event["peer"]) if event["kind"] == "send" else (event["peer"], event["node"])
            name = names[1 + len(types) % 5 if types else 0]  # the longest only once
            event["type"] = types.setdefault((*ends, event["id"]), name)
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    hostile = run.rename(tmp_path / ("$\\_<b>\n\u202e" + "x" * 240))
    code, out, err = invoke("figure", hostile, "--chart", "messages-by-type", "--out", tmp_path / "figures")
    assert (code, err) == (0, "")
    assert len(out.splitlines()) == 3
    assert all(Path(line).stat().st_size > 2000 for line in out.splitlines())
    assert [str(one.message) for one in recwarn] == []
