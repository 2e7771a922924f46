"""The network: who is linked with whom, and what changes that."""
