"""An emulation testbed for distributed mutual exclusion in mobile ad hoc networks.

For scripts and notebooks: `load`, `run`, `compare`, `sweep`, `reproduce`, `open_run` and `open_study`, which are in
`testbed.interface`. They are imported when they are first used, so that `import testbed` stays cheap for every module.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from testbed.interface import compare, load, open_run, open_study, reproduce, run, sweep

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "load", "open_run", "open_study", "reproduce", "run", "sweep"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("testbed.interface"), name)
