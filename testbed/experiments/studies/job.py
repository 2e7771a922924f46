"""Jobs of a store: one repetition of one scenario, named by everything that decides its result."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from testbed.backends.registry import find_backend
from testbed.experiments.studies.code import ENGINE, fingerprint_of
from testbed.scenario.schema import Scenario

WITHOUT = ("name", "description", "expect", "repeat")
"""Keys of a scenario that decide no result of a repetition."""


@dataclass(frozen=True, eq=False)
class StoredPoint:
    """A scenario whose repetitions are jobs of a store."""

    scenario: Scenario
    engine: str = ENGINE
    """The module that runs and judges a repetition."""

    @cached_property
    def content(self) -> str:
        """A hash of the scenario as it is resolved, and of the files that it names."""
        data = {key: value for key, value in self.scenario.model_dump().items() if key not in WITHOUT}
        trace, loaded = self.scenario.trace_file, self.scenario.algorithm.loaded
        if trace is not None:  # what is in a file counts, not where it is
            data["mobility"]["file"] = hashlib.sha256(trace.read_bytes()).hexdigest()
        if loaded is not None:
            data["algorithm"]["file"] = loaded.digest
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

    @cached_property
    def name(self) -> str:
        """The content, and the code that decides the result."""
        whole = f"{self.content} {fingerprint_of(self.scenario, self.engine)}"
        return hashlib.sha256(whole.encode()).hexdigest()[:32]

    def job(self, repetition: int) -> str:
        """The name of a repetition."""
        return f"{self.name}-{repetition:05d}"

    def jobs(self, repetitions: int) -> list[str]:
        """The names of the first repetitions."""
        return [self.job(number) for number in range(repetitions)]

    @cached_property
    def is_real_time(self) -> bool:
        """Whether it needs the machine to itself."""
        return find_backend(self.scenario.backend).real_time
