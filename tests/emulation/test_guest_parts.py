"""The parts of a guest, each by itself; nothing here boots one."""

from __future__ import annotations

import gzip
import importlib.util
import io
import lzma
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from testbed import processes
from testbed.cli.guest import parse_bring, parse_send
from testbed.cli.main import main
from testbed.errors import BackendError
from testbed.guest import accel, cache, needs
from testbed.guest.cpio import CpioWriter
from testbed.guest.elf import modinfo
from testbed.guest.init import WARM, is_for_us
from testbed.guest.kernel import Kernel, unpacked
from testbed.guest.layout import HELLO
from testbed.guest.project import ROOT, project_archive
from testbed.guest.protocol import DATA, MESSAGE, OUT, Frames, frame, message
from testbed.guest.rootfs import installed_packages
from tests.testbed.tiny import command, is_one_line

BUSYBOX = processes.find_program("busybox")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing here touches the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


# -- what is missing --------------------------------------------------------------------------------------------------


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Makes a machine that has only the programs named."""

    def only(*programs: str) -> None:
        for program in programs:
            (tmp_path / "bin" / program).touch(0o755)

    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(processes, "SYSTEM_PATHS", ())
    return only


def test_what_is_missing_is_one_line_with_how_to_get_it(only, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, and no other output."""
    only("apt-get", "qemu-system-x86_64")
    assert main(["guest", "run", "--", "true"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "testbed: the guest needs mke2fs, busybox; ./setup.sh --guest as root, or: "
        "apt-get install --no-install-recommends busybox-static e2fsprogs\n"
    )


def test_doctor_tells_what_is_missing(only, capsys: pytest.CaptureFixture[str]) -> None:
    only("qemu-system-x86_64", "busybox", "apt-get")
    assert main(["doctor"]) == 0
    assert "guest          cannot run: the guest needs mke2fs; ./setup.sh --guest" in capsys.readouterr().out


def test_the_kernel_is_fetched_by_apt(only) -> None:
    """Other systems do not have it."""
    only(*needs.TOOLS)
    assert needs.missing() is None
    lacking = needs.missing(fetching=True)
    assert lacking is not None
    assert "needs apt-get, apt-cache, dpkg-deb; on Debian or Ubuntu: apt-get install apt dpkg" in lacking


def test_other_machines_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert needs.missing() == "the guest runs on Linux on x86_64, not on Linux on aarch64"


# -- the command line -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which command"),
        (["--cpus", "0", "--", "true"], "--cpus: found 0; allowed: 1 to 64"),
        (["--memory", "10", "--", "true"], "--memory: found 10; allowed: 256 MB or more"),
        (["--timeout", "-1", "--", "true"], "--timeout: found -1; allowed: more than 0"),
        (["--timeout", "nan", "--", "true"], "--timeout: found nan"),
        (["--bring", "x", "--", "true"], "--bring x: allowed: PATH:DIR"),
        (["--bring", "x:README.md", "--", "true"], "README.md is not a folder"),
        (["--send", "no-such-file", "--", "true"], "no-such-file: no such file"),
        (["--send", ":x", "--", "true"], "an empty path: no such file"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], said: str) -> None:
    """Before anything is started or fetched."""
    done = command("guest", "run", *arguments, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert is_one_line(done.stderr)


def test_where_files_go(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert parse_send(f"{tmp_path}/file") == ("file", tmp_path / "file")
    assert parse_send(f"{tmp_path}/file:/etc/x") == ("/etc/x", tmp_path / "file")
    assert parse_bring("runs:out") == ("runs", Path("out"))


def test_the_first_process_refuses_to_run_on_the_host() -> None:
    """After each command it kills every process that it can see."""
    done = subprocess.run([sys.executable, "-m", "testbed.guest.init"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "testbed.guest.init runs as the first process of a guest only\n")


def test_which_commands_are_forked() -> None:
    forked = ["testbed", "testbed run x", "python x.py", "python -m x"]
    started = ["sh", "python", "python -m", "python -c x", "python -O x.py", "./testbed"]
    assert [line for line in forked + started if is_for_us(line.split())] == forked


@pytest.mark.parametrize("module", [name for name in WARM if name.startswith("testbed.")])
def test_what_is_imported_ahead_exists(module: str) -> None:
    """The guest leaves out a module that does not exist, without a message."""
    assert importlib.util.find_spec(module) is not None


# -- the cache --------------------------------------------------------------------------------------------------------


def test_an_artefact_is_built_once() -> None:
    built = []

    def build(path: Path) -> None:
        built.append(path)
        path.write_text("all of it")

    first, second = cache.build_once("root", "k", build), cache.build_once("root", "k", build)
    assert (first, len(built)) == (second, 1)
    assert first.read_text() == "all of it"


def test_a_build_that_fails_leaves_nothing_that_looks_complete() -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise BackendError("no")

    with pytest.raises(BackendError):
        cache.build_once("root", "k", fail)
    assert cache.find("root", "k") is None
    cache.tidy()
    assert [path.name for path in cache.folder().iterdir()] == [".lock"]


def test_what_is_not_used_is_removed() -> None:
    for number in range(5):
        path = cache.build_once("root", str(number), Path.mkdir)
        os.utime(path, (number, number))
    cache.find("root", "0")  # a use
    cache.tidy()
    assert sorted(path.name for path in cache.folder().glob("root-*")) == ["root-0", "root-3", "root-4"]


def test_the_fingerprint_is_of_all_that_goes_in() -> None:
    inputs = {"kernel": "6.1", "python": ["3.11", 1], "packages": {"pydantic": "2.1"}}
    same = {"packages": {"pydantic": "2.1"}, "python": ["3.11", 1], "kernel": "6.1"}
    assert cache.fingerprint(inputs) == cache.fingerprint(same)
    others = [{**inputs, "kernel": "6.2"}, {**inputs, "python": ["3.11", 2]}, {**inputs, "packages": {}}]
    assert len({cache.fingerprint(one) for one in (inputs, *others)}) == 4


def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By the specification, a relative path is ignored."""
    assert cache.folder() == tmp_path / "cache/testbed/guest"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.folder() == tmp_path / ".cache/testbed/guest"


# -- KVM --------------------------------------------------------------------------------------------------------------


class Console:
    """A QEMU with this text on its console."""

    def __init__(self, text: str, *, ended: bool = False) -> None:
        self._text, self._ended = text, ended

    def console(self) -> str:
        return self._text

    def has_ended(self) -> bool:
        return self._ended


@pytest.fixture
def with_kvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: path == "/dev/kvm")


@pytest.mark.parametrize("qemu", [Console(""), Console("Permission denied", ended=True)], ids=["hangs", "ends"])
def test_kvm_that_does_not_work_is_not_tried_again(with_kvm: None, qemu: Console) -> None:
    """Until the machine is started again."""
    assert accel.may_use_kvm("auto")
    assert not accel.kvm_works(qemu, within_s=0.1)
    assert not accel.may_use_kvm("auto")
    assert accel.may_use_kvm("kvm")  # the user asks for it by name


def test_kvm_that_works_is_used_again(with_kvm: None) -> None:
    assert accel.kvm_works(Console(f"SeaBIOS\r\n{HELLO}\r\n"), within_s=1)
    assert accel.may_use_kvm("auto")
    assert not accel.may_use_kvm("tcg")


def test_what_was_found_out_is_dropped_when_the_machine_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.remember("accel", "tcg")
    assert cache.recall("accel") == "tcg"
    monkeypatch.setattr(cache, "boot_id", lambda: "another")
    assert cache.recall("accel") is None


# -- formats ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(BUSYBOX is None, reason="busybox is not installed; apt-get install busybox-static")
def test_cpio_is_read_back(tmp_path: Path) -> None:
    """Another program reads it."""
    assert BUSYBOX is not None
    data = io.BytesIO()
    archive = CpioWriter(data)
    archive.add_folder("d")
    archive.add_file("d/odd", b"123")
    archive.add_file("d/program", b"1234", 0o755)
    archive.add_link("link", "d/odd")
    archive.close()
    done = subprocess.run([BUSYBOX, "cpio", "-i"], input=data.getvalue(), cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "link").read_bytes() == b"123"
    assert (tmp_path / "d/program").read_bytes() == b"1234"
    assert (tmp_path / "d/program").stat().st_mode & 0o777 == 0o755


def test_frames_may_arrive_in_pieces_of_any_size() -> None:
    sent = [(MESSAGE, b'{"do": "x"}'), (OUT, b""), (DATA, bytes(range(256)) * 300), (OUT, b"end")]
    stream, random, frames, got = b"".join(frame(*one) for one in sent), Random(1), Frames(), []
    while stream:
        size = random.choice([1, 3, 1000])
        frames.feed(stream[:size])
        stream = stream[size:]
        while (found := frames.next()) is not None:
            got.append(found)
    assert got == sent
    assert message(do="x") == frame(*sent[0])


def elf(modinfo: bytes) -> bytes:
    """A module with nothing but its section `.modinfo`."""
    names = b"\0.modinfo\0.shstrtab\0"
    sections = [(0, 0, 0), (1, 64, len(modinfo)), (10, 64 + len(modinfo), len(names))]
    table = 64 + len(modinfo) + len(names)
    header = b"\x7fELF\x02\x01".ljust(0x28, b"\0") + struct.pack("<QIHHHHHH", table, 0, 64, 0, 0, 64, len(sections), 2)
    rows = (struct.pack("<IIQQQQ", name, 0, 0, 0, offset, size).ljust(64, b"\0") for name, offset, size in sections)
    return header + modinfo + names + b"".join(rows)


def test_what_a_module_says_about_itself() -> None:
    said = elf(b"alias=net-pf-16\0depends=a,b-c\0\0alias=x=y\0")
    assert modinfo(said) == [("alias", "net-pf-16"), ("depends", "a,b-c"), ("alias", "x=y")]
    with pytest.raises(ValueError, match="ELF"):
        modinfo(b"#!/bin/sh")


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bytes])
def test_the_kernel_is_found_within_its_image(compress: Callable[[bytes], bytes]) -> None:
    kernel = b"\x7fELF" + bytes(1000)
    payload = compress(kernel)
    image = bytearray(1024)  # one sector of boot code, one of set-up
    image[0x1F1] = 1
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", image, 0x248, 16, len(payload))
    assert unpacked(bytes(image) + bytes(16) + payload + b"what follows") == kernel


@pytest.mark.parametrize("image", [b"", b"MZ" + bytes(5000)])
def test_what_is_no_kernel_is_left_alone(image: bytes) -> None:
    assert unpacked(image) is None


def test_modules_are_loaded_after_what_they_need(tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules/modules.dep").write_text("a.ko: c.ko b.ko\nb.ko:\nc.ko: b.ko\nd.ko:\n")
    assert Kernel(tmp_path).in_order(("d", "a", "built_in")) == ["d.ko", "b.ko", "c.ko", "a.ko"]


# -- what goes in -----------------------------------------------------------------------------------------------------


def test_packages_bring_what_they_require() -> None:
    found = installed_packages()
    assert {"pydantic", "pydantic-core", "typing-extensions", "pyyaml"} <= found.keys()
    assert not {"pytest", "adhoc-mutex-testbed"} & found.keys()


def test_the_code_is_packed_with_what_this_python_compiled(tmp_path: Path) -> None:
    """The archive is the same until the code changes."""
    for package in ("agents", "analysis", "testbed"):
        (tmp_path / package / "__pycache__").mkdir(parents=True)
        (tmp_path / package / "__init__.py").write_text("")
        (tmp_path / package / "__pycache__/__init__.cpython-10.pyc").touch()
    with project_archive(tmp_path) as first, project_archive(tmp_path) as second:
        first.seek(0)
        second.seek(0)
        packed = first.read()
        assert packed == second.read()
    tag = sys.implementation.cache_tag
    assert f"testbed/__pycache__/__init__.{tag}.pyc".encode() in packed
    assert b"cpython-10" not in packed
