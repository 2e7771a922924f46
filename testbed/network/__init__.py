"""The network: which nodes are linked, and what changes that."""
