"""Errors of an agent, split by whose fault they are."""


class MisuseError(Exception):
    """The driver broke the contract, for example by requesting twice. The agent's state is unchanged."""


class PeerError(Exception):
    """Bytes or a message from another node make no sense. The agent's state is unchanged."""
