"""The messages of hwsim: unpacked, and packed for receivers and transmitters."""

from __future__ import annotations

import struct

import pytest

from testbed.backends.hwsim import messages
from tests.testbed.backends.hwsim.frames import BROADCAST, FAMILY, ONCE, SIX, frame, mac, number, raw, unpack


@pytest.mark.parametrize("size", [24, 25, 26, 27, 96, 1500])
def test_a_frame_comes_with_its_sender_its_flags_its_tries_and_its_cookie(size: int) -> None:
    tries = (4, 2, 1, 3, -1, 0, -1, 0)
    read = messages.read_sent(raw(3, BROADCAST, size=size, flags=3, tries=tries, cookie=2**40 + 5))
    assert read is not None
    assert read.transmitter == mac(3)
    assert read.frame == frame(3, BROADCAST, size)
    assert (read.size, read.flags, read.tries) == (size, 3, tries)
    assert read.cookie == struct.pack("=Q", 2**40 + 5)


def test_attributes_may_come_in_another_order() -> None:
    """The order of Linux 6.1 is not guaranteed."""
    order = (
        messages.COOKIE,
        messages.FREQ,
        messages.ATTR_FRAME,
        messages.TX_INFO,
        messages.FLAGS,
        messages.ADDR_TRANSMITTER,
    )
    assert messages.read_sent(raw(3, mac(1), order=order)) == messages.read_sent(raw(3, mac(1)))


def test_what_is_no_frame_is_none() -> None:
    good = raw(0, BROADCAST)
    assert messages.read_sent(good[:16] + b"\x07" + good[17:]) is None
    for cut in (0, 10, 20, 30, 40, 100, len(good) - 1):
        assert messages.read_sent(good[:cut]) is None


def test_what_the_medium_says_is_what_the_kernel_reads() -> None:
    packer = messages.Packer(FAMILY, 2412)
    read = messages.read_sent(raw(0, mac(1), cookie=9))
    assert read is not None
    heard = (packer.head(len(read.attribute)), messages.receiver(mac(1)), read.attribute, packer.tails[SIX])
    data = b"".join(heard) + messages.signal(-61) + packer.tx_info(mac(0), 5, -61, ONCE) + read.cookie
    frames, reports = unpack(data)
    assert [len(frames), len(reports)] == [1, 1]
    assert frames[0][messages.ADDR_RECEIVER] == mac(1)
    assert frames[0][messages.ATTR_FRAME] == read.frame
    named = (messages.RX_RATE, messages.FREQ, messages.SIGNAL)
    assert [number(frames[0][kind]) for kind in named] == [SIX, 2412, -61]
    assert reports[0][messages.ADDR_TRANSMITTER] == mac(0)
    assert [number(reports[0][kind]) for kind in (messages.FLAGS, messages.SIGNAL, messages.COOKIE)] == [5, -61, 9]
    assert reports[0][messages.TX_INFO] == struct.pack("=8b", *ONCE)
