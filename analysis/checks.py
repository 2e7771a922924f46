"""The checks: what must hold in every run, checked event by event, on line and from a log alike."""

from __future__ import annotations

from analysis.check import Check
from analysis.conservation import Conservation
from analysis.order import Order, OrderOnLine
from analysis.safety import Safety
from analysis.starvation import Starvation

CHECKS: tuple[type[Check], ...] = (Safety, Conservation, Starvation, Order)
BATCHED_CHECKS: tuple[type[Check], ...] = (Safety, Conservation, Starvation, OrderOnLine)
