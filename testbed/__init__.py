"""An emulation testbed for distributed mutual exclusion in mobile ad hoc networks."""

__version__ = "0.1.0"
