"""How fast the page of `testbed view` opens and plays: `python -m benchmarks.view [--events N] [--nodes N] [--quick]`.

A run of RL with moving nodes is made as long as it takes for so many events, and its page is opened in Chromium by
Playwright. The targets, with 100 nodes and 200,000 events: open in 3 seconds, 30 frames per second. Chromium draws
without a graphics card here, which is the slowest way. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from testbed.cli.replay_text import as_dict
from testbed.experiments.runner import run
from testbed.look.view.make import view
from testbed.scenario.loader import loads

PLAY_S = 6.0
RANGE_M = 100.0
DEGREE = 9.0

SCENARIO = """\
name: view-benchmark
algorithm: rl
nodes: {nodes}
topology: geometric
area: [{side}, {side}]
placement: uniform
mobility: {{kind: random-waypoint, speed: [1, 4]}}
radio: {{range: {range}}}
workload: {{rate: 0.02, cs_time: 0.2}}
delays: {{hop: {{uniform: [0.05, 0.15]}}}}
duration: {duration}
drain: 100
trace: events
"""


def main() -> None:
    """Print what was measured."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--events", type=int, default=195_000)
    arguments.add_argument("--nodes", type=int, default=100)
    arguments.add_argument("--quick", action="store_true", help="few events: only shows that it runs")
    arguments.add_argument("--json", action="store_true")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        events, seconds = (5_000, 1.0) if chosen.quick else (chosen.events, PLAY_S)
        result = measure(Path(folder), chosen.nodes, events, seconds)
    if chosen.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:<24} {value:,}" if isinstance(value, int) else f"{name:<24} {value:,.2f}")


def measure(folder: Path, nodes: int, events: int, seconds: float) -> dict[str, float]:
    """Make the page and open it."""
    path = _run(folder, nodes, events)
    began = time.perf_counter()
    text = view(path, as_dict)
    made = time.perf_counter() - began
    file = path / "view.html"
    file.write_text(text, encoding="utf-8")
    facts = {"nodes": nodes, "events": _events(path), "file_mb": file.stat().st_size / 1e6, "make_s": made}
    return {**facts, **_in_browser(file, seconds)}


def _run(folder: Path, nodes: int, events: int) -> Path:
    """A run with about so many events: its length follows from that of a short one."""
    side = round(RANGE_M * math.sqrt(nodes * math.pi / DEGREE))

    def lasting(duration: float) -> Path:
        text = SCENARIO.format(nodes=nodes, side=side, range=RANGE_M, duration=round(duration, 3))
        return run(loads(text), folder).path

    duration = 100.0
    tried = lasting(duration)
    return lasting(duration * events / _events(tried)) if _events(tried) < 0.95 * events else tried


def _events(path: Path) -> int:
    with (path / "rep-000/events.jsonl").open("rb") as log:
        return sum(1 for _ in log)


def _in_browser(file: Path, seconds: float) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(file.resolve().as_uri(), timeout=120_000)
        while page.evaluate("window.testbedView?.timing?.openedMs") is None:
            page.wait_for_timeout(50)
        opened = page.evaluate("testbedView.timing.openedMs")
        played = [_play(page, seconds, selected) for selected in (None, 3)]
        thinned = page.evaluate("""() => new Promise((done) => {
            testbedView.setSpan(1e6);
            requestAnimationFrame(() => requestAnimationFrame(() => {
                testbedView.timing.frames = testbedView.timing.drawMs = 0;
                testbedView.seek(testbedView.time() + 1);
                requestAnimationFrame(() => requestAnimationFrame(() => done(testbedView.timing.drawMs)));
            }));
        })""")
        memory = _renderer_mb(browser)
        browser.close()
    return {
        "opened_s": opened / 1000,
        "frames_per_second": played[0]["fps"],
        "draw_ms_per_frame": played[0]["draw"],
        "longest_frame_ms": played[0]["longest"],
        "with_node_selected_fps": played[1]["fps"],
        "draw_all_ms": thinned,
        "renderer_mb": memory,
    }


def _play(page: Any, seconds: float, selected: int | None) -> dict[str, float]:
    """Play from the middle of the run; the page itself counts its frames."""
    found: dict[str, float] = page.evaluate(
        """([seconds, selected]) => new Promise((done) => {
            const { timing } = testbedView;
            testbedView.select(selected);
            testbedView.seek(testbedView.model.end / 2);
            Object.assign(timing, { frames: 0, drawMs: 0, longestMs: 0 });
            const began = performance.now();
            testbedView.play();
            setTimeout(() => {
                const passed = (performance.now() - began) / 1000;
                testbedView.pause();
                done({ fps: timing.frames / passed, draw: timing.drawMs / timing.frames, longest: timing.longestMs });
            }, seconds * 1000);
        })""",
        [seconds, selected],
    )
    return found


def _renderer_mb(browser: Any) -> float:
    """The resident memory of the largest renderer process."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return max(_resident_mb(one["id"]) for one in processes if one["type"] == "renderer")


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
