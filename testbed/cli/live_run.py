"""`testbed run --live`: a run that browsers on this machine can watch while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from analysis.events import LEVELS
from testbed.backends.base import RunOptions
from testbed.cli.output import print_note
from testbed.experiments.measure import chosen_backend
from testbed.experiments.runner import Result
from testbed.interface import run
from testbed.look.live.process import Live
from testbed.look.live.run_source import RunSource
from testbed.progress import Report
from testbed.scenario.schema import Scenario

USUAL_LENGTH_S = 60.0
"""How long a run in virtual time takes if the user chooses no pace."""


def run_live(scenario: Scenario, overrides: Sequence[str], out: Path, report: Report, options: RunOptions) -> Result:
    """Run a scenario, and serve it; a run in a guest is not served, since its logs come at the end."""
    backend = chosen_backend(scenario, options)
    if not backend.runs_here():
        print_note(
            "--live: this run happens in a guest, which hands its logs over at the end; testbed view shows them then"
        )
        return run(scenario, out, report=report, options=options)
    if scenario.trace != LEVELS[-1] and not any(one.startswith("trace=") for one in overrides):
        scenario = scenario.model_copy(update={"trace": LEVELS[-1]})  # with less there is little to see
        print_note(f"--live: every event is logged (trace: {LEVELS[-1]}, unless --set trace=... says otherwise)")
    if not backend.real_time and options.pace is None:
        options = replace(options, pace=1.0 if scenario.duration is None else scenario.duration / USUAL_LENGTH_S)
        print_note(f"--live: {options.pace:g} time units a second (--pace)")
    backend.check(scenario, options)
    with Live(RunSource()) as live:
        print_note(f"live: {live.address} (while the run goes on)")

        def report_both(share: float, words: str) -> None:
            report(share, words)
            live.report(share, words)

        def begin(directory: Path) -> None:
            live.tell(directory=str(directory.resolve()), of=scenario.repeat)

        return run(scenario, out, report=report_both, options=options, on_begin=begin)
