#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the names and lines of a stripped Go program with `go tool nm` and `go tool addr2line` of the same
program, not stripped.

usage: agree.py PILOTLIGHT CACHE WHOLE STRIPPED GO
"""
import subprocess
import sys

pilotlight, cache, whole, stripped, go = sys.argv[1:]
STEP = 37  # bytes between two addresses
LEAST = 0.995


def output_of(*command, given=None):
    return subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True, text=True).stdout


def functions():
    """Yields the range of each function of the program itself and its packages in Go."""
    for line in output_of(go, 'tool', 'nm', '-n', '-size', whole).splitlines():
        fields = line.split(None, 3)
        if len(fields) == 4 and fields[2] in 'tT' and int(fields[1]) > 0:
            yield int(fields[0], 16), int(fields[1])


def main():
    addresses = [start + offset for start, size in functions() for offset in range(0, size, STEP)]
    given = ''.join(f'{address:#x}\n' for address in addresses)
    theirs = output_of(go, 'tool', 'addr2line', whole, given=given).splitlines()
    blocks = output_of(pilotlight, 'symbols', 'lookup', '--cache', cache, stripped, given=given).split('\n\n')
    total = same = 0
    for at, block in enumerate(blocks[:len(addresses)]):
        lines = block.strip('\n').split('\n')
        name, place = theirs[2 * at:2 * at + 2]
        # addr2line knows no line of padding, and writes 0 or -1.
        if name == '?' or place.rsplit(':', 1)[1] in ('0', '-1', '?'):
            continue
        total += 1
        ours = lines[-2], lines[1].rsplit(':', 1)[0]
        if ours == (name.removesuffix('.abi0'), place):
            same += 1
        elif total - same < 4:
            print(f'{addresses[at]:#x}: {ours} instead of {(name, place)}')
    print(f'{same} of {total} addresses agree')
    return total < 10000 or same < LEAST * total


sys.exit(main())
