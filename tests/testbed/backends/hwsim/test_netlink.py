"""Netlink messages, byte by byte."""

from __future__ import annotations

import pytest

from testbed.backends.hwsim import names, netlink
from testbed.backends.hwsim.control_plane import ControlError
from testbed.backends.hwsim.netlink import attribute, attributes_of, generic, message, messages_of, text, u8, u32


def test_an_attribute_is_its_length_its_kind_its_value_and_padding() -> None:
    assert attribute(17, b"abcde") == b"\x09\x00\x11\x00abcde\x00\x00\x00"
    assert attribute(4, u32(-50)) == b"\x08\x00\x04\x00\xce\xff\xff\xff"
    assert attribute(60, b"") == b"\x04\x00\x3c\x00"
    assert attribute(1, text("x")) + attribute(2, u8(7)) == b"\x06\x00\x01\x00x\0\0\0\x05\x00\x02\x00\x07\0\0\0"


def test_a_generic_message_has_two_headers() -> None:
    assert message(0x1A, netlink.REQUEST | netlink.ACK, generic(4, attribute(1, b"ab")), 7) == bytes.fromhex(
        "1c000000 1a00 0500 07000000 00000000 04010000 0600 0100 6162 0000"
    )


def test_attributes_come_back() -> None:
    packed = attribute(3, b"one") + attribute(0x8000 | 5, b"nested") + attribute(3, b"two")
    assert attributes_of(packed) == {3: b"two", 5: b"nested"}


@pytest.mark.parametrize("data", ["0300 0100", "0900 0100 61626364", "ffff 0100 6162 6364"])
def test_attributes_that_lie_about_their_length_are_refused(data: str) -> None:
    with pytest.raises(ValueError, match="an attribute of"):
        attributes_of(bytes.fromhex(data))


def test_messages_in_one_datagram() -> None:
    first, second = message(2, 0, b"abc", 1), message(3, 2, b"", 2)
    data = first + bytes(-len(first) % 4) + second
    assert list(messages_of(data)) == [(2, 0, 1, b"abc"), (3, 2, 2, b"")]
    with pytest.raises(ValueError, match="a message of"):
        list(messages_of(first[:-1]))


def test_a_refusal_says_what_the_kernel_said() -> None:
    body = (-22).to_bytes(4, "little", signed=True) + bytes(16) + attribute(1, text("Invalid SSID"))
    with pytest.raises(ControlError, match=r"Invalid argument \(Invalid SSID\)"):
        netlink._raise_error(body, 0x200)
    netlink._raise_error(bytes(20), 0)


def test_names_tell_the_radios_of_runs_from_all_others() -> None:
    assert names.run_of_radio(names.radio_name("a1.b_2", 17)) == "a1.b_2"
    for other in ("phy0", "tb-3", "tbrun", "tbrun-", "tbrun-x", "xtbrun-1", "tbrun-1 ", "tbrun-123456", "tbr/n-1"):
        assert names.run_of_radio(other) is None, other


def test_addresses_follow_from_the_number_of_the_node() -> None:
    assert [names.address(node) for node in (0, 1, 254, 255, 64_999)] == [
        *("10.77.0.1", "10.77.0.2", "10.77.0.255", "10.77.1.0", "10.77.253.232"),
    ]
    assert all(names.node_of(names.address(node)) == node for node in range(0, 65_000, 997))
    assert names.broadcast_address() == "10.77.255.255"


def test_hardware_addresses_are_local_unicast_and_differ_between_nodes_and_runs() -> None:
    made = {names.hardware_address(run, node) for run in ("a", "b") for node in range(300)}
    assert len(made) == 600
    assert all(len(address) == 6 and address[0] == 2 for address in made)
    assert names.cell_address("a") not in made


@pytest.mark.parametrize("name", ["", "a/b", "a-b", "x" * 33, "..", "a b"])
def test_a_run_cannot_have_any_name(name: str) -> None:
    from testbed.errors import BackendError

    with pytest.raises(BackendError, match="letters, digits"):
        names.check_run(name)
