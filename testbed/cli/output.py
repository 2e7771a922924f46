"""Output of commands."""

from __future__ import annotations

import json
from typing import Any


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    print(json.dumps(value, indent=1))
