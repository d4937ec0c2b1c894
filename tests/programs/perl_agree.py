#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the chains that Perl's caller() told with those that Pilotlight sampled in the same instants.

	perl_agree.py NAME OURS.folded CALLER.folded

The subroutine that asks caller() also calls getppid(2), and OURS is a recording of these calls (src/perl_oracle.pm). So
each chain must be there, with the same subroutines, files and lines, as often. Prints a row of the table in
docs/interpreters.md: how many chains are equal, how many with all lines, and how many frames; then the differences.
"""
import collections
import re
import sys

FRAME = re.compile(r"(.*?)(?: \((\(eval\)|[^()]*?)(?::(\d+))?\))?_\[e\]$")
ORACLE = "perl_oracle::note"


def frame_of(text):
    name, path, line = FRAME.match(text).groups()
    return name, (path or "").rsplit("/", 1)[-1], line or ""


def read(path):
    chains = collections.Counter()
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            stack, count = line.rstrip("\n").rsplit(" ", 1)
            chain = [frame_of(one) for one in stack.split(";") if one.endswith("_[e]")]
            if chain and chain[-1][0] == ORACLE:
                chain.pop()
            chains[tuple(chain)] += int(count)
    return chains


def without_lines(chains):
    result = collections.Counter()
    for chain, count in chains.items():
        result[tuple(frame[:2] for frame in chain)] += count
    return result


def common(ours, oracle):
    """How many frames are the same from either end on."""
    most = min(len(ours), len(oracle))
    return max(next((i for i in range(most) if a[i] != b[i]), most)
               for a, b in ((ours, oracle), (ours[::-1], oracle[::-1])))


def report(kind, differences):
    for chain, count in differences.most_common(9):
        print(f"# only {kind}: {count} {';'.join(' '.join(frame) for frame in chain)}", file=sys.stderr)


def main():
    name, *paths = sys.argv[1:]
    ours, oracle = (read(path) for path in paths)
    chains, with_lines = sum(oracle.values()), sum((ours & oracle).values())
    ours, oracle = without_lines(ours), without_lines(oracle)
    equal = ours & oracle
    report("ours", ours - equal)
    report("caller's", oracle - equal)
    frames = sum(len(chain) * count for chain, count in oracle.items())
    right = sum(len(chain) * count for chain, count in equal.items())
    left = ours - equal
    for chain in (oracle - equal).elements():
        # The one that is most alike is taken for that of the same instant.
        best = max(left, key=lambda one: common(one, chain), default=())
        left -= collections.Counter([best])
        right += common(best, chain)
    print(f"| {name} | {chains} | {100 * sum(equal.values()) / max(chains, 1):.2f} % "
          f"| {100 * right / max(frames, 1):.2f} % | {100 * with_lines / max(chains, 1):.2f} % |")


main()
