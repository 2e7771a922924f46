"""Control messages between the processes of a run."""

import os
import socket

import pytest

from testbed.backends.stations.control import Control, MessageTooLongError


def test_control_messages_and_descriptors():
    """Whole messages, in order, with their descriptors; then the end of the stream."""
    ours, theirs = Control.pair()
    read, write = os.pipe()
    ours.send({"do": "one"}, write)
    ours.send({"do": "two", "text": "é" * 50_000})
    ours.close()
    os.close(write)
    first, fds = theirs.receive()
    assert first == {"do": "one"}
    os.write(fds[0], b"x")
    assert os.read(read, 1) == b"x"
    assert theirs.receive() == ({"do": "two", "text": "é" * 50_000}, [])
    assert theirs.receive() == (None, [])
    theirs.close()
    os.close(fds[0])
    os.close(read)


def test_a_message_that_is_too_long():
    """It is an error at the sender, whether our limit or the kernel's is passed; it is never cut off."""
    ours, theirs = Control.pair()
    with pytest.raises(MessageTooLongError, match=r"of 1048\d\d\d bytes .* is too long: .*\"forbid\""):
        ours.send({"do": "forbid", "pairs": "x" * (1 << 20)})
    ours.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 10_000)
    with pytest.raises(MessageTooLongError):
        ours.send({"do": "forbid", "pairs": "x" * 100_000})
    ours.close()
    assert theirs.receive() == (None, []), "nothing of it has arrived"
    theirs.close()


def test_a_message_to_a_process_that_has_ended():
    """It is an error at the sender."""
    ours, theirs = Control.pair()
    theirs.close()
    with pytest.raises(ConnectionError):
        ours.send({"do": "anything"})
    ours.close()
