"""Backends: the places a scenario can run in. Each supplies a clock, timers and links, and nothing else."""
