"""Replay: one node's run, repeated from its log."""
