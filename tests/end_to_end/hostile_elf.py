# SPDX-License-Identifier: GPL-2.0-or-later
"""hostile_elf.py FOLDER: makes ELF files that would need more than all limits, for symbol_worker.sh.

Each has a build-id and one executable segment, and is small on disk.
"""
import lzma
import os
import struct
import sys
import zlib

HEADER = 64
SECTION = 64
CODE_VADDR = 0x1000
CODE_BYTES = 0x1000
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_NOBITS = 1, 2, 3, 7, 8
SHF_ALLOC, SHF_EXECINSTR, SHF_COMPRESSED = 2, 4, 0x800
PT_LOAD, PT_NOTE = 1, 4


class Section:
    def __init__(self, name, kind, data=b"", flags=0, addr=0, link=0, entsize=0, size=None):
        self.name, self.kind, self.data, self.flags = name, kind, data, flags
        self.addr, self.link, self.entsize = addr, link, entsize
        self.size = len(data) if size is None else size  # more than the data: a hole follows


def note(build_id):
    return struct.pack("<III", 4, len(build_id), 3) + b"GNU\0" + build_id


def write_elf(path, number, sections, shnum=None, first_size=0):
    """`shnum` and `first_size` replace e_shnum and the length of section 0."""
    build_id = bytes([number]) * 20
    sections = [
        Section(".note.gnu.build-id", SHT_NOTE, note(build_id), SHF_ALLOC, 0x200),
        Section(".text", SHT_PROGBITS, b"\xc3" * CODE_BYTES, SHF_ALLOC | SHF_EXECINSTR, CODE_VADDR),
    ] + sections
    names = b"\0"
    offsets = []
    for section in sections + [Section(".shstrtab", SHT_STRTAB)]:
        offsets.append(len(names))
        names += section.name.encode() + b"\0"
    sections.append(Section(".shstrtab", SHT_STRTAB, names))
    with open(path, "wb") as file:
        place = {0: 0x200, 1: CODE_VADDR}
        end = CODE_VADDR + CODE_BYTES
        for i, section in enumerate(sections):
            if i not in place:
                place[i] = end
                end += (section.size + 15) // 16 * 16
            file.seek(place[i])
            file.write(section.data)
        file.seek(end)
        file.write(struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, first_size, 0, 0, 0, 0))
        for i, section in enumerate(sections):
            file.write(struct.pack("<IIQQQQIIQQ", offsets[i], section.kind, section.flags,
                section.addr, place[i], section.size, section.link, 0, 1, section.entsize))
        count = len(sections) + 1
        file.seek(0)
        file.write(b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1,
            CODE_VADDR, HEADER, end, 0, HEADER, 56, 2, SECTION,
            count if shnum is None else shnum, count - 1))
        file.write(struct.pack("<IIQQQQQQ", PT_LOAD, 5, CODE_VADDR, CODE_VADDR, CODE_VADDR,
            CODE_BYTES, CODE_BYTES, 0x1000))
        file.write(struct.pack("<IIQQQQQQ", PT_NOTE, 4, 0x200, 0x200, 0x200, 36, 36, 4))


def zeros_compressed(compressor, total, first=b""):
    """Yields `first` and then zeros, `total` bytes in all, without keeping them in memory."""
    block = bytes(1 << 20)
    out = [compressor.compress(first)]
    left = total - len(first)
    while left > 0:
        out.append(compressor.compress(block[:left]))
        left -= len(block)
    out.append(compressor.flush())
    return b"".join(out)


def compressed(name, packed, claimed):
    return Section(name, SHT_PROGBITS, struct.pack("<IIQQ", 1, 0, claimed, 1) + packed,
        SHF_COMPRESSED)


def unit(dies):
    """A DWARF 4 unit of some DIEs."""
    body = struct.pack("<HIB", 4, 0, 8) + dies
    return struct.pack("<I", len(body)) + body


# 1: a unit with children. 2: a subprogram of abstract_origin (ref4), low_pc, high_pc (data8), with
# children. 3: an inlined subroutine of abstract_origin, low_pc, high_pc, with children. 4: a
# subprogram of specification (ref4).
ABBREVIATIONS = (
    b"\x01\x11\x01\x00\x00"
    b"\x02\x2e\x01\x31\x13\x11\x01\x12\x07\x00\x00"
    b"\x03\x1d\x01\x31\x13\x11\x01\x12\x07\x00\x00"
    b"\x04\x2e\x00\x47\x13\x00\x00"
    b"\x00"
)


def cyclic_unit():
    """Origins and specifications that refer to themselves, to each other and to their children."""
    first = 12  # of the first subprogram: after the header and the unit's code
    function = lambda code, origin, low: bytes([code]) + struct.pack("<IQQ", origin, low, 16)
    itself = function(2, first, CODE_VADDR) + b"\0"
    second = first + len(itself)
    inlined = second + 21
    other = function(2, inlined, CODE_VADDR + 16) + function(3, second, CODE_VADDR + 16) + b"\0\0"
    pair = second + len(other)
    circle = b"\x04" + struct.pack("<I", pair + 5) + b"\x04" + struct.pack("<I", pair)
    return unit(b"\x01" + itself + other + circle + b"\0")


def deep_unit(depth):
    """Nested inlined calls, all at one address."""
    die = lambda code: bytes([code]) + struct.pack("<IQQ", 12, CODE_VADDR, 16)
    return unit(b"\x01" + die(2) + die(3) * depth + b"\0" * (depth + 2))


def main(folder):
    def path(name):
        return os.path.join(folder, name)

    gigabyte = 1 << 30
    write_elf(path("sparse"), 1, [
        Section(".strtab", SHT_STRTAB, size=gigabyte),
        Section(".symtab", SHT_SYMTAB, link=3, entsize=24, size=5 * gigabyte // 24 * 24),
        Section(".debug_abbrev", SHT_PROGBITS, ABBREVIATIONS),
        Section(".debug_info", SHT_PROGBITS, unit(b"\x01\0"), size=4 * gigabyte),
    ])
    write_elf(path("sections"), 2, [], shnum=0, first_size=1 << 32)
    write_elf(path("cycles"), 3, [
        Section(".debug_abbrev", SHT_PROGBITS, ABBREVIATIONS),
        Section(".debug_info", SHT_PROGBITS, cyclic_unit()),
    ])
    write_elf(path("deep"), 4, [
        Section(".debug_abbrev", SHT_PROGBITS, ABBREVIATIONS),
        Section(".debug_info", SHT_PROGBITS, deep_unit(300000)),
    ])
    elf = b"\x7fELF\2\1\1"
    write_elf(path("xz_bomb"), 5, [Section(".gnu_debugdata", SHT_PROGBITS,
        zeros_compressed(lzma.LZMACompressor(preset=0), 2 * gigabyte, elf))])
    write_elf(path("xz_dictionary"), 6, [Section(".gnu_debugdata", SHT_PROGBITS,
        # The header claims a large dictionary, because a compressor would really allocate one.
        lzma_with_dictionary(zeros_compressed(lzma.LZMACompressor(preset=0), 4096, elf)))])
    bomb = zeros_compressed(zlib.compressobj(9), 2 * gigabyte, unit(b"\x01\0"))
    abbreviations = Section(".debug_abbrev", SHT_PROGBITS, ABBREVIATIONS)
    write_elf(path("zlib_bomb"), 7,
        [abbreviations, compressed(".debug_info", bomb, 2 * gigabyte)])
    write_elf(path("zlib_understated"), 8, [abbreviations, compressed(".debug_info", bomb, 4096)])
    write_elf(path("zlib_overstated"), 9,
        [abbreviations, compressed(".debug_info", zlib.compress(bytes(64)), (1 << 63) - 1)])


def lzma_with_dictionary(packed):
    """An .xz whose block header claims a dictionary of 3 GiB (bits 39), with a valid checksum."""
    size = (packed[12] + 1) * 4
    header = bytearray(packed[12:12 + size - 4])
    # Flags, then the filter: its id, the length of its properties, the dictionary's size.
    header[4] = 39
    checked = bytes(header) + struct.pack("<I", zlib.crc32(bytes(header)))
    return packed[:12] + checked + packed[12 + size:]


if __name__ == "__main__":
    main(sys.argv[1])
