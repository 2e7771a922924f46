"""The position of every node at every time: placements, mobility models, traces, and when two nodes are in range."""
