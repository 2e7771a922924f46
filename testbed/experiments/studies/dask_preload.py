"""Loaded by the workers of a cluster on this machine: Ctrl-C reaches them too, and only the command acts on it."""

from testbed.interrupts import leave_interrupts_to_parent

leave_interrupts_to_parent()
