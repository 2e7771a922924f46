"""Stations: agents as real processes on real sockets, in real time."""
