"""The checks: what must hold in every run, checked event by event, on line and from a log alike."""

from __future__ import annotations

from analysis.check import Check
from analysis.conservation import Conservation
from analysis.contract import Contract
from analysis.order import Order, OrderOnLine
from analysis.progress import Progress
from analysis.safety import Safety
from analysis.starvation import Starvation
from analysis.timing import Timing

CHECKS: tuple[type[Check], ...] = (Safety, Conservation, Starvation, Progress, Order, Contract, Timing)
BATCHED_CHECKS: tuple[type[Check], ...] = (Safety, Conservation, Starvation, Progress, OrderOnLine, Contract, Timing)
