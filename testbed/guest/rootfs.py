"""The guest's root file system: the Python that runs us, the packages it needs and a few tools, in an ext4 image.

Every file keeps its path, so that Python finds its library, and its modification time, so that compiled files stay
valid: to compile the standard library again would take the guest minutes. `mke2fs -d` fills the image without
privileges.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import BackendError
from testbed.guest import cache
from testbed.guest.kernel import Kernel
from testbed.guest.layout import PACKAGES, PROJECT, START
from testbed.guest.needs import tool
from testbed.processes import find_program

DISTRIBUTIONS = ("pydantic", "PyYAML", "pyroute2")
"""What the project needs in the guest; those that are installed are copied, with what they require."""
PROGRAMS = ("sh", "babeld", "ip", "tc", "iw", "bridge", "batctl", "ping")
"""Copied if the host has them. Busybox has a shell too, but it would run its own `ip` instead of the real one."""
_LEFT_OUT = {
    "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data", "site-packages",
    "dist-packages",
}  # fmt: skip
_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_EXPECTED_IN_SBIN = ("modprobe", "ifconfig")  # the kernel and the initramfs call them there
_FOLDERS = ("dev", "proc", "sys", "tmp", "run", "var", "root", "etc/modprobe.d", "opt", "usr/bin", "usr/sbin")
_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    # Radios are made one by one, by netlink.
    "etc/modprobe.d/testbed.conf": "options mac80211_hwsim radios=0\n",
}


@dataclass(frozen=True)
class Extra:
    """What else is copied, for a guest that is to do more."""

    distributions: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    """Python packages that are no distributions."""
    scripts: tuple[tuple[str, str], ...] = ()
    """Names and texts of shell scripts, which become programs."""


def root_image(kernel: Kernel, extra: Extra | None = None) -> Path:
    """The image, from the cache."""
    extra = extra or Extra()
    packages = installed_packages((*DISTRIBUTIONS, *extra.distributions))
    programs = {
        program: found for program in (*PROGRAMS, *extra.programs) if (found := find_program(program)) is not None
    }
    inputs = {
        "kernel": kernel.path.name,
        "python": [sys.version, *map(_stamp, _interpreter_and_library())],
        "packages": {name: distribution.version for name, distribution in packages.items()},
        "programs": {program: _stamp(Path(found)) for program, found in [*programs.items(), ("", tool("busybox"))]},
        "scripts": extra.scripts,
        "folders": {str(folder): _newest_change(folder) for folder in extra.folders},
        "recipe": [Path(__file__).read_text(), PACKAGES, PROJECT, START],
    }

    def build(path: Path) -> None:
        tree = path.with_name(f"{path.name}-tree")
        _fill(tree, kernel, packages.values(), programs.values(), extra)
        _make_image(tree, path)
        shutil.rmtree(tree)

    return cache.build_once("root", cache.fingerprint(inputs), build)


def installed_packages(wanted: Iterable[str] = DISTRIBUTIONS) -> dict[str, importlib.metadata.Distribution]:
    """The distributions for the guest by name: those wanted and, transitively, what they require."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = [*wanted]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # for another system or another Python, or an extra that the host does not have
        for requirement in found[name].requires or ():
            needed = re.match(r"[\w.-]+", requirement)
            if needed and "extra ==" not in requirement:
                waiting.append(needed[0])
    return found


def _interpreter_and_library() -> tuple[Path, Path]:
    return Path(sys.executable).resolve(), Path(sysconfig.get_path("stdlib"))


def _stamp(path: Path) -> list[object]:
    facts = path.stat()
    return [str(path), facts.st_size if path.is_file() else 0, facts.st_mtime_ns]


def _newest_change(folder: Path) -> list[int]:
    changes = [path.stat().st_mtime_ns for path in folder.rglob("*") if path.suffix != ".pyc"]
    return [len(changes), max(changes, default=0)]


def _fill(
    tree: Path,
    kernel: Kernel,
    packages: Iterable[importlib.metadata.Distribution],
    programs: Iterable[str],
    extra: Extra,
) -> None:
    tree.mkdir()
    _copy_top_links(tree)
    for name in (*_FOLDERS, f".{PROJECT}", f".{PACKAGES}"):
        (tree / name).mkdir(parents=True, exist_ok=True)
    for name, text in _FILES.items():
        (tree / name).write_text(text)
    interpreter, library = _interpreter_and_library()
    _copy(tree, interpreter)
    _copy_library(library, tree / str(library).lstrip("/"))
    for package in packages:
        _copy_package(package, tree / PACKAGES.lstrip("/"))
    for folder in extra.folders:
        shutil.copytree(folder, tree / PACKAGES.lstrip("/") / folder.name, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    for program in map(Path, programs):
        _copy(tree, program, None if str(program.parent) in _PATH else f"/usr/bin/{program.name}")
    for name, script in extra.scripts:
        _write_script(tree / "usr/bin" / name, script)
    _copy(tree, Path(tool("busybox")), "/usr/bin/busybox")
    _link_applets(tree)
    _write_starters(tree, interpreter)
    _copy_shared_libraries(tree)
    shutil.copytree(kernel.modules, tree / "lib/modules" / kernel.release)
    _compile(tree, library)


def _copy_top_links(tree: Path) -> None:
    """On most systems /bin, /sbin and /lib are links into /usr; on the others they are folders."""
    for name in ("bin", "sbin", "lib", "lib64"):
        host = Path("/", name)
        if host.is_symlink():
            target = os.readlink(host).lstrip("/")
            (tree / target).mkdir(parents=True, exist_ok=True)
            (tree / name).symlink_to(target)
        else:
            (tree / name).mkdir()


def _copy(tree: Path, file: Path, where: str | None = None) -> None:
    """Copy a file, or what a link points to, to the same path in the tree."""
    target = tree / (where or str(file)).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy2(file, target)


def _copy_library(library: Path, target: Path) -> None:
    def left_out(folder: str, names: list[str]) -> set[str]:
        unwanted = {name for name in names if name in _LEFT_OUT or name.startswith("config-")}
        return unwanted | {name for name in names if name.endswith((".opt-1.pyc", ".opt-2.pyc", ".a"))}

    shutil.copytree(library, target, ignore=left_out, dirs_exist_ok=True)


def _copy_package(package: importlib.metadata.Distribution, target: Path) -> None:
    base = Path(str(package.locate_file("")))
    if package.files is None:
        raise BackendError(f"{package.name} was installed in a way that keeps no list of files; set up with ./setup.sh")
    for file in package.files:
        source = Path(str(package.locate_file(file)))
        if ".." not in file.parts and source.is_file() and not _LEFT_OUT & set(file.parts):
            copy = target / source.relative_to(base)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)


def _link_applets(tree: Path) -> None:
    """The usual commands, from busybox, unless the host's own were copied."""
    names = subprocess.run([tool("busybox"), "--list"], capture_output=True, text=True, check=True).stdout.split()
    for name in names:
        places = [tree / folder / name for folder in ("bin", "sbin", "usr/bin", "usr/sbin")]
        if not any(place.exists() or place.is_symlink() for place in places):
            (tree / ("sbin" if name in _EXPECTED_IN_SBIN else "bin") / name).symlink_to("/usr/bin/busybox")


def _write_starters(tree: Path, interpreter: Path) -> None:
    """The commands `python` and `testbed`, and the start of the first process."""
    for name in ("python", "python3"):
        link = tree / "usr/bin" / name
        if not link.exists():
            link.symlink_to(interpreter)
    environment = f"PYTHONPATH={PROJECT}:{PACKAGES} PYTHONUTF8=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1"
    # For packages that only some guests have: no window, no threads, and a folder that can be written to.
    environment += " MPLBACKEND=Agg MPLCONFIGDIR=/run/matplotlib OPENBLAS_NUM_THREADS=1"
    environment += " TESTBED_CONTROL_PLANE=netlink"  # importing pyroute2 takes seconds under software emulation
    _write_script(
        tree / START.lstrip("/"),
        f"export HOME=/root PATH={':'.join(_PATH)} {environment}\nexec {interpreter} -S -m testbed.guest.init",
    )
    _write_script(tree / "usr/bin/testbed", f'exec {interpreter} -m testbed.cli "$@"')


def _write_script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _copy_shared_libraries(tree: Path) -> None:
    """The libraries that programs and extension modules are linked with, as the host's loader finds them."""
    linked = [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink() and _is_elf(path)]
    # The original files are asked where they exist: a library may be found relative to the file that needs it.
    originals = [original if (original := Path("/", path.relative_to(tree))).exists() else path for path in linked]
    said = subprocess.run(["ldd", *originals], capture_output=True, text=True).stdout
    wanted = set(re.findall(r"(?:=> |^\s+)(/\S+) \(0x", said, re.MULTILINE))
    # Loaded by name when the first thread ends, so `ldd` does not list it.
    wanted |= {str(Path(one).with_name("libgcc_s.so.1")) for one in wanted if one.endswith("/libc.so.6")}
    for library in sorted(wanted):
        if Path(library).is_file():
            _copy(tree, Path(library))


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _compile(tree: Path, library: Path) -> None:
    """Compile what the host has not compiled; files that are up to date are left as they are."""
    for folder in (str(library), PACKAGES):
        options = ["-qq", "-j0", "-s", str(tree), "-p", "/"]  # with the paths that the files have in the guest
        command = [sys.executable, "-m", "compileall", *options, str(tree / folder.lstrip("/"))]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _make_image(tree: Path, path: Path) -> None:
    files = list(tree.rglob("*"))
    blocks = sum(-(-file.lstat().st_size // 4096) for file in files)
    options = ["-q", "-F", "-t", "ext4", "-b", "4096", "-O", "^has_journal,^metadata_csum,^64bit,^resize_inode"]
    inodes = len(files) + 100
    size = f"{(blocks + inodes // 16) * 21 // 20 + 512}"
    made = subprocess.run(
        [tool("mke2fs"), *options, "-m", "0", "-N", str(inodes), "-E", "root_owner=0:0", "-d", tree, path, size],
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        raise BackendError(f"mke2fs failed: {(made.stderr.strip().splitlines() or ['it printed no reason'])[-1]}")
