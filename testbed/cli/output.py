"""Output of commands."""

from __future__ import annotations

import json
import sys
from typing import Any

from testbed.errors import one_line


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    print(json.dumps(value, indent=1))


def print_note(line: str) -> None:
    """Print a line that is no result, on stderr."""
    print(f"testbed: {one_line(line)}", file=sys.stderr)
