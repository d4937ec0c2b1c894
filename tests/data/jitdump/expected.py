#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes what is expected of each dump here, without any of the profiler's code.

NAME.symbols: what lives at the dump's end, as perf-map lines START SIZE NAME in the order of
addresses. It is made by painting: each LOAD in the order of time is laid over what was there.
NAME.lines: of each LOAD in the order of the file, ADDRESS TIME SIZE; then, where it has source
lines, OFFSET LINE COLUMN FILE of each stretch of them, which ends where the next begins; line 0:
not known. The lines of V8's damaged records are cut where the first name stops being text.
"""
import pathlib
import struct
import sys

V8_PADDING = 0xDEADBEEF


class Dump:
    def __init__(self, data):
        self.data = data
        self.order = "<" if data[:4] == b"DTiJ" else ">"
        (_, _, size, _, self.padding, _) = self.unpack("6I", 0)
        self.records = list(self.split(size))

    def unpack(self, layout, offset):
        return struct.unpack_from(self.order + layout, self.data, offset)

    def split(self, offset):
        while offset + 16 <= len(self.data):
            kind, size, time = self.unpack("IIQ", offset)
            if offset + size > len(self.data):
                return
            yield kind, time, offset, offset + size
            offset += size

    def string(self, start, end):
        stop = self.data.find(b"\0", start, end)
        return None if stop < 0 else self.data[start:stop]


def loads(dump):
    for kind, time, start, end in dump.records:
        if kind == 0:
            _, _, vma, address, size, _ = dump.unpack("IIQQQQ", start + 16)
            yield time, vma, address, size, dump.string(start + 56, end)


def symbols(dump):
    """Stretches (start, end, name), none over another."""
    painted = []
    for _, _, address, size, name in sorted(loads(dump), key=lambda load: load[0]):
        rest = []
        for start, end, other in painted:
            if start < address:
                rest.append((start, min(end, address), other))
            if end > address + size:
                rest.append((max(start, address + size), end, other))
        painted = [s for s in rest if s[0] < s[1]] + [(address, address + size, name)]
    return sorted(painted)


def entries(dump, start, end):
    """What the DEBUG_INFO says, and whether it can be read to its end."""
    address, count = dump.unpack("QQ", start + 16)
    at, found, file = start + 32, [], None
    for _ in range(count):
        if at + 17 > end:
            return found, False
        entry, line, column = dump.unpack("Qii", at)
        name = dump.string(at + 16, end)
        if name is None:
            return found, False
        at += 17 + len(name)
        file = file if name == b"\xff" else name
        found.append((entry, line, column, file))
    return found, True


def is_text(name):
    try:
        return all(ord(c) >= 32 and ord(c) != 127 for c in name.decode())
    except UnicodeDecodeError:
        return False


def lines(dump, start, end, address, size):
    is_v8 = dump.padding == V8_PADDING
    found, is_whole = entries(dump, start, end)
    bias = 64 if is_v8 else 0
    table, before = {}, None
    for entry, line, column, file in found:
        offset = entry - bias - address
        if not -65536 <= offset <= size + 64 or line < 0:
            is_whole = False
            break
        offset = max(offset, 0)
        if is_v8 and not is_text(file):
            table[offset] = (0, 0, b"")
            before = None
            break
        if offset < size:
            table[offset] = (line, column if is_v8 else 0, file) if line else (0, 0, b"")
            before = offset
    if not is_whole and before is not None:
        table[before] = (0, 0, b"")
    result, last = [], (0, 0, b"")
    for offset in sorted(table):
        if table[offset] != last:
            result.append((offset, *table[offset]))
            last = table[offset]
    return result


def line_tables(dump):
    waiting = {}
    for kind, time, start, end in dump.records:
        if kind == 2:
            (address,) = dump.unpack("Q", start + 16)
            waiting[address] = (start, end)
        elif kind == 0:
            _, _, _, address, size, _ = dump.unpack("IIQQQQ", start + 16)
            table = []
            if address in waiting:
                table = lines(dump, *waiting.pop(address), address, size)
            yield address, time, size, table


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for path in sorted(folder.glob("*.dump")):
        dump = Dump(path.read_bytes())
        with open(path.with_suffix(".symbols"), "wb") as out:
            for start, end, name in symbols(dump):
                out.write(b"%x %x %s\n" % (start, end - start, name))
        with open(path.with_suffix(".lines"), "wb") as out:
            for address, time, size, table in line_tables(dump):
                out.write(b"%x %d %x\n" % (address, time, size))
                for offset, line, column, file in table:
                    out.write(b"\t%x %d %d %s\n" % (offset, line, column, file))


main()
