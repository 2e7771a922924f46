"""Replay: what one node did in a run, done again from its log."""
