"""The guest's kernel: the distribution's stock one, unpacked into the cache and never installed on the host.

Debian's full image has every module that radios need; its `cloud` image has not. Of its 4,000 modules the guest gets
those named here and the modules that they depend on.
"""

from __future__ import annotations

import lzma
import re
import shutil
import struct
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import BackendError
from testbed.guest import cache
from testbed.guest.elf import modinfo
from testbed.guest.needs import missing, tool
from testbed.processes import find_program

BOOT_MODULES = ("virtio_pci", "virtio_blk", "virtio_console", "crc32c_generic", "ext4")
"""Needed to reach the root file system and the host. ext4 needs a crc32c even where no checksum is used."""
RADIO_MODULES = ("mac80211_hwsim",)
"""Loaded while the guest starts, because every use of it needs them."""
OTHER_MODULES = (
    "batman_adv", "bridge", "dummy", "tun", "veth", "macvlan", "ifb", "8021q", "nlmon",
    "sch_netem", "sch_tbf", "sch_htb", "sch_prio", "cls_u32", "act_mirred", "sch_ingress",
    "overlay",
)  # fmt: skip
"""Loaded on demand, by name or by the kernel itself."""
META_PACKAGES = ("linux-image-amd64", "linux-image-generic")  # Debian's, Ubuntu's
_PARTS = re.compile(r"linux-(image|modules|modules-extra)(-unsigned)?-\d\S*")


@dataclass(frozen=True)
class Kernel:
    """A kernel in the cache."""

    path: Path

    @property
    def image(self) -> Path:
        return self.path / "kernel"

    @property
    def modules(self) -> Path:
        """The modules, `modules.dep` and `modules.alias`, as modprobe expects them."""
        return self.path / "modules"

    @property
    def release(self) -> str:
        """What `uname -r` says in the guest."""
        return (self.path / "release").read_text()

    def in_order(self, names: tuple[str, ...]) -> list[str]:
        """The files of these modules and of all that they depend on, each after those that it needs."""
        needs = {}
        for line in (self.modules / "modules.dep").read_text().splitlines():
            name, _, others = line.partition(":")
            needs[name] = others.split()
        order: dict[str, None] = {}
        for name in names:
            file = f"{name}.ko"
            if file in needs:  # else it is built in
                order |= dict.fromkeys([*reversed(needs[file]), file])
        return list(order)


def kernel(*, update: bool = False) -> Kernel:
    """The kernel that was used last; the distribution's current one if there is none, or with `update`."""
    wanted = cache.fingerprint([BOOT_MODULES, RADIO_MODULES, OTHER_MODULES, Path(__file__).read_text()])
    known = None if update else cache.newest("kernel", wanted)
    if known is None:
        lacking = missing(fetching=True)
        if lacking:
            raise BackendError(lacking)
        packages = _packages()
        return Kernel(cache.build_once("kernel", f"{packages[0]}-{wanted}", lambda path: _build(path, packages)))
    return Kernel(cache.build_once("kernel", known.name.removeprefix("kernel-"), _already_built))


def _already_built(path: Path) -> None:
    raise BackendError(f"{path} has gone from the cache; run `testbed guest prepare`")


def _packages() -> list[str]:
    """The packages that the distribution's current kernel consists of, the image first."""
    for meta in META_PACKAGES:
        parts = _depends(meta)
        if parts:
            for part in parts:  # grows: Ubuntu keeps most modules in packages that the image depends on
                parts += [other for other in _depends(part) if other not in parts]
            return parts
    raise BackendError(
        f"no package {' or '.join(META_PACKAGES)} is known here, which have the guest's kernel; run: apt-get update"
    )


def _depends(package: str) -> list[str]:
    found = subprocess.run([tool("apt-cache"), "depends", "--important", package], capture_output=True, text=True)
    names = re.findall(r"Depends: (\S+)", found.stdout)
    return [name for name in names if _PARTS.fullmatch(name)]


def _build(path: Path, packages: list[str]) -> None:
    tree, downloads = path / "tree", path / "downloads"
    downloads.mkdir(parents=True)
    tree.mkdir()
    _check(subprocess.run([tool("apt-get"), "-qq", "download", *packages], cwd=downloads, capture_output=True))
    for package in sorted(downloads.iterdir()):
        _check(subprocess.run([tool("dpkg-deb"), "-x", package, tree], capture_output=True))
    images = sorted((tree / "boot").glob("vmlinuz-*"))
    if not images:
        raise BackendError(f"{', '.join(packages)}: no kernel in there")
    release = images[0].name.removeprefix("vmlinuz-")
    (path / "release").write_text(release)
    config = tree / "boot" / f"config-{release}"
    has_pvh = config.exists() and "CONFIG_PVH=y" in config.read_text().splitlines()
    image = images[0].read_bytes()
    (path / "kernel").write_bytes((unpacked(image) if has_pvh else None) or image)
    installed = next(one for one in (tree / "lib/modules", tree / "usr/lib/modules") if one.is_dir()) / release
    _pick_modules(installed, path / "modules")
    shutil.rmtree(tree)
    shutil.rmtree(downloads)


def _check(done: subprocess.CompletedProcess[bytes]) -> None:
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        command = " ".join(Path(done.args[0]).name if i == 0 else str(arg) for i, arg in enumerate(done.args))
        raise BackendError(f"`{command}` failed: {said[-1] if said else f'exit code {done.returncode}'}")


def unpacked(image: bytes) -> bytes | None:
    """The ELF kernel in a bzImage, or None if its compression is unknown.

    QEMU starts it by the PVH protocol. Under software emulation this saves four seconds: the kernel does not have
    to unpack itself.
    """
    if image[0x202:0x206] != b"HdrS":
        return None
    start = ((image[0x1F1] or 4) + 1) * 512
    offset, length = struct.unpack_from("<II", image, 0x248)
    payload = image[start + offset : start + offset + length]
    try:
        elf = _decompress(payload)
    except (lzma.LZMAError, zlib.error, OSError, EOFError, ValueError):
        return None
    return elf if elf.startswith(b"\x7fELF") else None


def _decompress(data: bytes) -> bytes:
    """Decompress data in any of the formats that kernels and modules come in; trailing bytes are ignored."""
    if data.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMADecompressor().decompress(data)
    if data.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(31).decompress(data)
    if data.startswith(b"\x28\xb5\x2f\xfd") and find_program("zstd"):
        return subprocess.run(
            [tool("zstd"), "-dcq"], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ).stdout
    return data


def _pick_modules(installed: Path, target: Path) -> None:
    """Copy the modules the guest needs, and write the lists that modprobe reads."""
    target.mkdir()
    files = {_name(file): file for file in installed.rglob("*.ko*")}
    built_in = {_name(Path(line)) for line in (installed / "modules.builtin").read_text().split()}
    direct: dict[str, list[str]] = {}
    aliases = []
    waiting = [*BOOT_MODULES, *RADIO_MODULES, *OTHER_MODULES]
    while waiting:
        name = waiting.pop()
        if name in direct or name in built_in:
            continue
        if name not in files:
            raise BackendError(f"this kernel has no module {name}; is it a trimmed one, such as Debian's `cloud`?")
        data = _decompress(files[name].read_bytes())
        (target / f"{name}.ko").write_bytes(data)
        facts = modinfo(data)
        needs = [one.replace("-", "_") for key, value in facts if key == "depends" for one in value.split(",") if one]
        direct[name] = [one for one in needs if one not in built_in]
        aliases += [f"alias {value} {name}\n" for key, value in facts if key == "alias"]
        waiting += direct[name]
    (target / "modules.alias").write_text("".join(sorted(aliases)))
    lines = [f"{name}.ko: {' '.join(f'{one}.ko' for one in _all_needs(name, direct))}\n" for name in sorted(direct)]
    (target / "modules.dep").write_text("".join(lines))


def _all_needs(name: str, direct: dict[str, list[str]]) -> list[str]:
    """All modules that one depends on, also indirectly, each before those that it needs: the order of `modules.dep`."""
    order: dict[str, None] = {}

    def visit(one: str) -> None:
        for other in direct[one]:
            visit(other)
        order[one] = None

    for one in direct[name]:
        visit(one)
    return list(reversed(order))


def _name(file: Path) -> str:
    return file.name.partition(".ko")[0].replace("-", "_")
