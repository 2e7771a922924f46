"""Protocol agents: the mutual exclusion algorithms as pure state machines.

Nothing here reads a clock, opens a socket or imports the testbed, so the same object runs under every backend, in
property tests and in exhaustive search.
"""
