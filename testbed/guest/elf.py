"""What a kernel module says about itself: the `key=value` strings of its ELF section `.modinfo`."""

from __future__ import annotations

import struct


def modinfo(module: bytes) -> list[tuple[str, str]]:
    """The pairs in the module's own order; a key may come several times."""
    if module[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", module, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", module, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", module, table + index * size) for index in range(count)]
    names = sections[names_index][4]
    for name, _, _, _, offset, length in sections:
        if module.startswith(b".modinfo\0", names + name):
            strings = module[offset : offset + length].split(b"\0")
            pairs = (string.decode(errors="replace").partition("=") for string in strings if string)
            return [(key, value) for key, _, value in pairs]
    return []
