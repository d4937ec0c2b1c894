#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the chains of PHP functions of a recording with those that another tool saw in the same program.

usage: php_chains.py PROFILE.folded PHPSPY
       php_chains.py PROFILE.folded TRACE...
phpspy stops the process with ptrace before it reads the chain (phpspy -S -p PID -o PHPSPY). A recording of
sched:sched_switch that begins before and ends after it has a sample of each stop: with ptrace_stop() in its kernel
stack. So each chain of phpspy must be there, as often. A trace of Xdebug (xdebug.mode=trace, xdebug.trace_format=1)
has all chains of a request; those of a recording of such requests must be among them.
"""
import collections
import re
import sys

INCLUDES = ("include", "include_once", "require", "require_once")


def script(path):
    return "{main:" + path.rpartition("/")[2] + "}"


def own_chains(path, text):
    """Counts the chains, from the root on, of the samples that have this text."""
    chains = collections.Counter()
    for line in open(path):
        stack, _, count = line.rstrip("\n").rpartition(" ")
        if text in stack:
            chains[tuple(frame[:-4] for frame in stack.split(";") if frame.endswith("_[h]"))] += int(count)
    return chains


def spied_chains(lines):
    frames = []
    for line in lines:
        if line == "\n":
            yield tuple(reversed(frames))
            frames = []
        elif line[0].isdigit():
            name, _, place = line.split(" ", 1)[1].partition(" ")
            # A method's class is that of the files that it includes, too. A fiber begins in a file of no name.
            if not name.endswith("<main>"):
                frames.append(name)
            elif not place.startswith("<internal>"):
                frames.append(script(place.rpartition(":")[0]))


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


def report(all_count, differences, kind):
    count = sum(differences.values())
    print(f"{count:8} {100 * count / all_count:6.2f} %  {kind}")
    for chain, samples in differences.most_common(9):
        print(f"{samples:20}  {';'.join(chain)}")


def main():
    lines = [open(path, errors="replace").readlines() for path in sys.argv[2:]]
    is_traced = lines[0][0].startswith("Version:")
    own = own_chains(sys.argv[1], "" if is_traced else ";ptrace_stop_[k]")
    found = sum(own.values())
    print(f"{found} samples, {own.pop((), 0)} without a function of PHP")
    if is_traced:
        traced = {chain for one in lines for chain in traced_chains(one)}
        print(f"{len(traced)} chains of Xdebug")
        report(found, collections.Counter({chain: own[chain] for chain in own if chain not in traced}), "not among them")
    else:
        spied = collections.Counter(spied_chains(lines[0]))
        print(f"{sum(spied.values())} chains of phpspy, {sum((own & spied).values())} of them in the recording")
        report(found, own - spied, "only in the recording")
        report(found, spied - own, "only phpspy's")


main()
