"""Where every node is, at every time: placements, mobility models, traces, and when two nodes come within reach."""
