#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What lives at the end of each perf map here, written beside it as NAME.symbols.

Independent of the reader under test: each line paints its bytes' stretch, the last one wins. What
touches and has one name is one line: START SIZE NAME, sorted by address.
"""

import pathlib
import re

# Erlang alone writes 0x before the start and none before the size.
LINE = re.compile(rb"[ \t]*(0[xX])?([0-9a-fA-F]+)[ \t]+(0[xX])?([0-9a-fA-F]+)[ \t]+(.+)", re.DOTALL)


def parse(line):
    match = LINE.fullmatch(line.removesuffix(b"\r"))
    if not match:
        return None
    prefix, start, size_prefix, size, name = match.groups()
    start, size = int(start, 16), int(size, 16)
    if size == 0 or start + size >= 1 << 64 or b"\0" in name:
        return None
    if prefix and not size_prefix and name.startswith(b"$") and len(name) > 1:
        name = name[1:]
    return start, start + size, name


def paint(symbols):
    """Sweeps over all borders; of what covers a stretch the last line counts."""
    borders = sorted({border for start, end, _ in symbols for border in (start, end)})
    place = {border: i for i, border in enumerate(borders)}
    cells = [None] * len(borders)
    for start, end, name in symbols:
        for i in range(place[start], place[end]):
            cells[i] = name
    for i in range(len(borders) - 1):
        if cells[i] is not None:
            yield borders[i], borders[i + 1], cells[i]


def merge(stretches):
    merged = []
    for start, end, name in stretches:
        if merged and merged[-1][1] == start and merged[-1][2] == name:
            merged[-1][1] = end
        else:
            merged.append([start, end, name])
    return merged


for path in sorted(pathlib.Path(__file__).parent.glob("*.map")):
    lines = path.read_bytes().split(b"\n")
    if not lines[-1]:
        lines.pop()
    parsed = [parse(line) for line in lines]
    symbols = [symbol for symbol in parsed if symbol]
    with open(path.with_suffix(".symbols"), "wb") as output:
        for start, end, name in merge(paint(symbols)):
            output.write(b"%x %x %s\n" % (start, end - start, name))
    print(f"{path.name}: {len(lines)} lines, {len(lines) - len(symbols)} malformed")
