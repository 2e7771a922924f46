"""Makes viewer.png, the README's picture of `testbed view`.

    ./setup.sh --extra dev python docs/images/make_viewer.py [FILE]

It runs the scenario below, makes its page and takes a picture of it in Chromium (Debian's package `chromium`). The
simulator gives the same run every time, so the moment is a constant. If a change of the simulator leaves nothing to be
seen there, choose another one: open the page with `testbed view` and look for a moment worth a picture.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

from testbed.cli.main import carry_out
from testbed.cli.replay_text import as_dict
from testbed.errors import BackendError
from testbed.experiments.runner import run
from testbed.look.view.make import view
from testbed.look.view.page_file import page_file
from testbed.scenario.loader import loads

SCENARIO = """\
name: field-teams
algorithm: {name: krl, k: 3}
nodes: 25
topology: {kind: geometric, hysteresis: 0.05}
seed: 9
area: [1000, 450]
mobility: {kind: random-waypoint, speed: [2, 8]}
radio: {range: 170}
delays: {hop: 0.15}
workload: {rate: 0.02, cs_time: 1.2}
duration: 200
drain: 100
trace: events
"""
MOMENT = "#t=162027221979&node=20"
"""Two nodes are inside, the third token is on its way to one of four that wait, in a component of its own."""
STRETCH = "5"
WIDTH, HEIGHT, DENSITY = 1200, 940, 2
COLOURS = 256
"""With a palette the file is a third as large, and no eye sees the difference."""


def main() -> int:
    """Write the picture."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("viewer.png")
    with tempfile.TemporaryDirectory() as folder:
        path = run(loads(SCENARIO), Path(folder)).path
        page = page_file(path, 0)
        page.write_text(view(path, as_dict), encoding="utf-8")
        _write_small(_picture(page), file)
    print(file)
    return 0


def _picture(page_file: Path) -> bytes:
    """The page at the moment, as PNG."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise BackendError("chromium is not installed: apt-get install --no-install-recommends chromium (as root)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise BackendError("playwright is not installed: ./setup.sh --extra dev") from None
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has no sandbox for root
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=DENSITY)
        page.goto(page_file.as_uri() + MOMENT)
        page.get_by_label("Stretch").select_option(STRETCH)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        taken = page.screenshot()
        browser.close()
    return taken


def _write_small(picture: bytes, file: Path) -> None:
    from PIL import Image  # matplotlib needs it, so the extra `dev` has it

    with Image.open(io.BytesIO(picture)) as whole:
        whole.convert("RGB").quantize(COLOURS).save(file, optimize=True)


if __name__ == "__main__":
    sys.exit(carry_out(main))
