"""Experiments: one run and its directory, the grid of points that comparisons and reproductions share, smoke tests."""
