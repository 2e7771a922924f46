"""The first file system of the guest's kernel: its script loads a few modules, mounts the root image and hands over."""

from __future__ import annotations

from pathlib import Path

from testbed.guest import cache
from testbed.guest.cpio import CpioWriter
from testbed.guest.kernel import BOOT_MODULES, RADIO_MODULES, Kernel
from testbed.guest.layout import HELLO, MODULES_LOADED, PROJECT, START
from testbed.guest.needs import tool

_INIT = f"""\
#!/bin/busybox sh
# Any failure ends the guest. What is printed here goes to the console, which the host shows in its error line.
b=/bin/busybox
fail() {{ echo "testbed-guest: $*"; $b poweroff -f; }}
echo {HELLO}
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
for module in $($b cat /modules/order); do $b insmod /modules/$module || fail "cannot load $module"; done
tries=0
until [ -b /dev/vda ] && [ -b /dev/vdb ]; do
    tries=$((tries + 1)); [ $tries -lt 500 ] || fail "no disks"
    $b usleep 20000
done
$b mount -t ext4 -o ro,noatime /dev/vda /root || fail "cannot mount the root image"
$b mount -t tmpfs -o mode=755 project /root{PROJECT}
$b tar -x -f /dev/vdb -C /root{PROJECT} || fail "cannot unpack the project"
for folder in tmp run var; do $b mount -t tmpfs -o mode=755 $folder /root/$folder; done
$b chmod 1777 /root/tmp
$b ln -s /run /root/var/run
for folder in dev proc sys; do $b mount -o move /$folder /root/$folder; done
$b mkdir -p /root/dev/pts /root/dev/shm
$b mount -t devpts devpts /root/dev/pts
$b mount -t tmpfs shm /root/dev/shm
$b mount -t debugfs debug /root/sys/kernel/debug
# On the second processor, while Python starts on the first. The shell of the new root does it in the background: this
# shell would find its files gone.
$b chroot /root /bin/sh -c '(/sbin/modprobe -a {" ".join(RADIO_MODULES)}; echo >{MODULES_LOADED}) &'
$b chroot /root /sbin/ifconfig lo 127.0.0.1 up
exec $b switch_root /root {START}
"""


def initramfs(kernel: Kernel) -> Path:
    """The archive, from the cache. It is not compressed: to unpack it would take the guest longer than to read it."""
    busybox = Path(tool("busybox"))
    order = kernel.in_order(BOOT_MODULES)
    inputs = [kernel.path.name, _INIT, order, busybox.stat().st_size, Path(__file__).read_text()]

    def build(path: Path) -> None:
        with path.open("wb") as file:
            archive = CpioWriter(file)
            for folder in ("bin", "dev", "modules", "proc", "root", "sys"):
                archive.add_folder(folder)
            archive.add_device("dev/console", 5, 1)  # the kernel opens it for the first process
            archive.add_file("bin/busybox", busybox.read_bytes(), 0o755)
            archive.add_file("init", _INIT.encode(), 0o755)
            archive.add_file("modules/order", "\n".join(order).encode())
            for module in order:
                archive.add_file(f"modules/{module}", (kernel.modules / module).read_bytes())
            archive.close()

    return cache.build_once("initramfs", cache.fingerprint(inputs), build)
