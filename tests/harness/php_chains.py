#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the chains of PHP functions of a recording with those that another tool saw in the same program.

usage: php_chains.py PROFILE.folded FILE...
FILE is what phpspy wrote of the same process at the same time (phpspy -S -p PID -o FILE), or a trace of Xdebug, which
has all chains of a request (xdebug.mode=trace, xdebug.trace_format=1).
"""
import collections
import re
import sys

INCLUDES = ("include", "include_once", "require", "require_once")


def script(path):
    return "{main:" + path.rpartition("/")[2] + "}"


def own_chains(path):
    """Yields the functions of PHP, from the root on, and how many samples have them."""
    for line in open(path):
        stack, _, count = line.rstrip("\n").rpartition(" ")
        frames = [frame[:-4] for frame in stack.split(";") if frame.endswith("_[h]")]
        yield tuple(frames), int(count)


def spied_chains(lines):
    frames = []
    for line in lines:
        if line == "\n":
            yield tuple(reversed(frames))
            frames = []
        elif line[0].isdigit():
            name, _, place = line.split(" ", 1)[1].partition(" ")
            if (name, place) != ("<main>", "<internal>:-1\n"):  # where a fiber begins
                frames.append(script(place.rpartition(":")[0]) if name == "<main>" else name)


def traced_chains(lines):
    frames = []
    for line in lines:
        fields = line.rstrip("\n").split("\t")
        if len(fields) < 9 or fields[2] != "0":
            continue
        # Behind the name of a function that calls another one is its place.
        name = re.sub(r"{closure:[^}]*}", "{closure}", fields[5].replace("->", "::")).partition(":{/")[0]
        if name == "{main}":
            name = script(fields[8])
        elif name in INCLUDES:
            name = script(fields[7])
        frames[int(fields[0]) - 1:] = [name]
        yield tuple(frames)


def other_chains(path):
    lines = open(path, errors="replace").readlines()
    return traced_chains(lines) if lines[0].startswith("Version:") else spied_chains(lines)


def classify(chain, others, calls, functions):
    if not chain:
        return "no function of PHP"
    if chain in others:
        return "the same chain"
    if any(function not in functions for function in chain):
        return "a function that only the recording has"
    if all(call in calls for call in zip(("",) + chain, chain)):
        return "calls that the other has in other combinations"
    return "a call that only the recording has"


def main():
    others = collections.Counter(chain for path in sys.argv[2:] for chain in other_chains(path))
    calls = {call for chain in others for call in zip(("",) + chain, chain)}
    functions = {function for chain in others for function in chain}
    classes, examples = collections.Counter(), collections.defaultdict(collections.Counter)
    for chain, count in own_chains(sys.argv[1]):
        kind = classify(chain, others, calls, functions)
        classes[kind] += count
        examples[kind][chain] += count
    found = sum(classes.values()) - classes["no function of PHP"]
    print(f"{found} samples with functions of PHP; the other has {len(others)} chains")
    for kind, count in classes.most_common():
        print(f"{count:8} {100 * count / found:6.2f} %  {kind}")
        if kind not in ("the same chain", "no function of PHP"):
            for chain, samples in examples[kind].most_common(5):
                print(f"{samples:20}  {';'.join(chain)}")


main()
