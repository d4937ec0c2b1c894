# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of ELF files, for unwind_agree.py: their starts and ends, the targets of their jumps and
their imports from other files."""
import bisect
import collections
import functools
import os
import re
import struct
import subprocess

SHT_SYMTAB, SHT_DYNSYM = 2, 11
PT_LOAD, PT_GNU_EH_FRAME = 1, 0x6474E550
STT_FUNC, STT_GNU_IFUNC = 2, 10
HDR_AS_USUAL = bytes((1, 0x1B, 0x03, 0x3B))  # offsets of 32 bits in a sorted table
NESTED_SYMBOLS = 16
SHT_RELA, SHT_NOTE = 4, 7
R_GLOB_DAT, R_JUMP_SLOT = 6, 7

Function = collections.namedtuple("Function", "path start end name")


class Elf:
    """The functions of a file."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:5] != b"\x7fELF\x02":
            raise ValueError(path)
        self.entry, phoff, shoff = struct.unpack_from("<24x3Q", self.data)
        count, _, sections, _ = struct.unpack_from("<4H", self.data, 56)
        self.segments = [struct.unpack_from("<2I6Q", self.data, phoff + i * 56)
                         for i in range(count)]
        self.sections = [struct.unpack_from("<2I4Q2I2Q", self.data, shoff + i * 64)
                         for i in range(sections)]

    def section_name(self, section):
        strings = self.sections[struct.unpack_from("<H", self.data, 62)[0]][4]
        return self.text(strings + section[0])

    def text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode(errors="replace")

    def symbols(self):
        """(start, end, name) of functions with a size."""
        for section in self.sections:
            if section[1] not in (SHT_SYMTAB, SHT_DYNSYM):
                continue
            strings = self.sections[section[6]][4]
            data = self.data[section[4]:section[4] + section[5]]
            for name, info, _, index, value, size in struct.iter_unpack("<I2BH2Q", data):
                if size and index and info & 15 in (STT_FUNC, STT_GNU_IFUNC):
                    yield value, value + size, strings + name

    def imports(self):
        """(address of the slot, name) of functions that the dynamic linker finds."""
        for section in self.sections:
            if section[1] != SHT_RELA:
                continue
            symbols = self.sections[section[6]]
            strings = self.sections[symbols[6]][4] if symbols[1] == SHT_DYNSYM else 0
            data = self.data[section[4]:section[4] + section[5]]
            for slot, info, _ in struct.iter_unpack("<2Qq", data):
                if strings and info & 0xFFFF_FFFF in (R_GLOB_DAT, R_JUMP_SLOT):
                    symbol = symbols[4] + (info >> 32) * 24
                    yield slot, self.text(strings + struct.unpack_from("<I", self.data, symbol)[0])

    def exports(self):
        """Starts of functions by name; None if the program decides at its start."""
        found = {}
        for section in self.sections:
            if section[1] != SHT_DYNSYM:
                continue
            strings = self.sections[section[6]][4]
            data = self.data[section[4]:section[4] + section[5]]
            for name, info, _, index, value, _ in struct.iter_unpack("<I2BH2Q", data):
                if not index or info & 15 not in (STT_FUNC, STT_GNU_IFUNC):
                    continue
                name = self.text(strings + name)
                is_decided = info & 15 == STT_FUNC and found.get(name, value) == value
                found[name] = value if is_decided else None
        return found

    def build_id(self):
        for section in self.sections:
            if section[1] == SHT_NOTE and self.section_name(section) == ".note.gnu.build-id":
                return self.data[section[4] + 16:section[4] + section[5]].hex()
        return ""


class Binary:
    """Finds the function of an address, and reads code."""

    def __init__(self, path):
        self.elf = Elf(path)
        build_id = self.elf.build_id()
        debug = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
        functions = {}
        for elf in [self.elf] + ([Elf(debug)] if build_id and os.path.exists(debug) else []):
            for start, end, name in elf.symbols():
                if functions.get(start, (0,))[0] < end:
                    functions[start] = end, elf, name
        self.functions = functions
        self.starts = sorted(functions)
        self.plts = [(s[3], s[3] + s[5], s[9] or 16) for s in self.elf.sections
                     if self.elf.section_name(s).startswith(".plt")]
        self.imports = dict(self.elf.imports())
        self.exports = self.elf.exports()
        self.frames = self.read_frames()
        self.frame_starts = [start for start, _ in self.frames]

    def read_frames(self):
        """(start, address of the description), sorted, of .eh_frame_hdr."""
        for kind, _, offset, address, *_ in self.elf.segments:
            if kind != PT_GNU_EH_FRAME or self.elf.data[offset:offset + 4] != HDR_AS_USUAL:
                continue
            count, = struct.unpack_from("<I", self.elf.data, offset + 8)
            data = self.elf.data[offset + 12:offset + 12 + 8 * count]
            return [(address + start, address + where)
                    for start, where in struct.iter_unpack("<2i", data)]
        return []

    def to_address(self, offset):
        for kind, _, begin, address, _, size, *_ in self.elf.segments:
            if kind == PT_LOAD and begin <= offset < begin + size:
                return offset - begin + address
        return None

    def read(self, address, size):
        for kind, _, begin, start, _, length, *_ in self.elf.segments:
            if kind == PT_LOAD and start <= address and address + size <= start + length:
                return self.elf.data[address - start + begin:address - start + begin + size]
        return b""

    def frame_at(self, address):
        i = bisect.bisect_right(self.frame_starts, address) - 1
        if i < 0:
            return None
        start, where = self.frames[i]
        size = struct.unpack("<I", self.read(where + 12, 4) or bytes(4))[0]
        return (start, start + size) if address < start + size else None

    @functools.lru_cache(None)
    def has_no_caller(self, address):
        """Whether no call has this caller or callee: code of a signal frame, or Go's goexit()."""
        if self.function_at(address).name.startswith("runtime.goexit"):
            return True
        i = bisect.bisect_right(self.frame_starts, address) - 1
        if i < 0 or not self.frame_at(address):
            return False
        description = self.frames[i][1]
        to_common = struct.unpack("<I", self.read(description + 4, 4))[0]
        augmentation = self.read(description + 4 - to_common + 9, 8)
        return b"S" in augmentation.split(b"\0")[0]

    def symbol_at(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        for start in self.starts[max(0, i - NESTED_SYMBOLS):i + 1][::-1]:
            end, elf, name = self.functions[start]
            if address < end:
                return start, end, elf.text(name)
        return None

    def plt_stub_at(self, address):
        for start, end, size in self.plts:
            if start <= address < end:
                return address - (address - start) % size, size
        return None

    @functools.lru_cache(None)
    def function_at(self, address):
        path, name = self.elf.path, os.path.basename(self.elf.path)
        stub = self.plt_stub_at(address)
        if stub:
            return Function(path, stub[0], sum(stub), f"{name}+{stub[0]:#x}@plt")
        symbol = self.symbol_at(address)
        if symbol:
            return Function(path, *symbol)
        frame = self.frame_at(address)
        if not frame:
            return Function(path, 0, 0, f"[{name}]")
        is_entry = frame[0] <= self.elf.entry < frame[1]
        return Function(path, *frame, "_start" if is_entry else f"{name}+{frame[0]:#x}")

    @functools.lru_cache(None)
    def jumps_from(self, function):
        """Targets of its jumps to other functions; None stands for any target."""
        text = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", f"--start-address={function.start:#x}",
             f"--stop-address={function.end:#x}", function.path],
            capture_output=True, text=True, errors="replace").stdout
        code = re.findall(
            r"^ *[0-9a-f]+:\t(?:(?:bnd|notrack|repz) )?(\w+) *(\*|[0-9a-f]*)", text, re.M)
        targets = {None if target == "*" else int(target, 16)
                   for name, target in code if target and name.startswith("j")}
        last = [name for name, _ in code if "nop" not in name][-1:]
        if last and not re.match(r"ret|jmp|call|ud2|hlt|int3|xchg", last[0]):
            targets.add(function.end)
        return {t for t in targets if t is None or not function.start <= t < function.end}


@functools.lru_cache(None)
def binary_of(path):
    try:
        return Binary(path)
    except (OSError, ValueError, struct.error):
        return None
