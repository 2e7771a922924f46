"""How stations on loopback address their datagrams."""

from testbed.backends.loopback.transport import TO_ALL, LoopbackTransport
from testbed.link.actions import Transmit


def test_loopback_addresses():
    """Everything goes to the medium, with the receiver's number before it; only the medium is listened to."""
    transport = LoopbackTransport(4711)
    assert transport.address(Transmit(7, b"data", "Data")) == (b"\0\0\0\7data", ("127.0.0.1", 4711))
    assert transport.address(Transmit(None, b"x", "Hello"))[0] == TO_ALL.to_bytes(4) + b"x"
    assert transport.is_ours(("127.0.0.1", 4711))
    assert not transport.is_ours(("127.0.0.1", 4712))
