#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the stacks that rbspy saw with those that Pilotlight sampled in the same instants.

	ruby_agree.py NAME OURS.folded SPY.collapsed

rbspy stops the threads with ptrace before it reads the stack of the one that Ruby runs. OURS is a recording of
sched:sched_switch: the samples that have ptrace_stop() in their kernel stack are those of such a stop, one of each
thread. So each stack of rbspy must be there, with the same functions of the same files, as often. Not compared are:
lines, as rbspy 0.55 gives the last line of a method of Ruby 3.1; functions of C, if it knows none by name, as in a
stripped Ruby; and the files of functions whose file it does not know. Its unknown functions are left out: they are
blocks in C, which Ruby's own backtraces leave out, too. Of Ruby 3.4 rbspy 0.55 leaves out methods that have used $~ and
the like. Prints a row of a table, then the differences by class.
"""
import collections
import re
import sys

OURS = re.compile(r"(.*?)(?: \((\([^()]*\)|[^()]*?)(?::\d+)?\))?_\[r\]$")
SPY = re.compile(r"(.*) - (.*?)(?::\d+)?$")
NATIVE = " [c function]"
UNKNOWN = "(unknown)"
NO_FILE = "unknown"
NO_NAME = "no name"
MORE = "more in ours"


def frame_of_ours(text):
    name, path = OURS.match(text).groups()
    return name, (path or "").rsplit("/", 1)[-1]


def frame_of_spy(text):
    name, path = SPY.match(text).groups()
    if name.endswith(NATIVE):
        name, path = name.removesuffix(NATIVE), ""
    # From Ruby 3.3 on it has the class in front.
    prefix = re.match(r"((?:block|rescue|ensure)(?: \(\d+ levels\))? in )?(.*)$", name)
    bare = prefix[2] if prefix[2].startswith("<") else re.split(r"[#.](?=[^#.])", prefix[2])[-1]
    return (prefix[1] or "") + bare, path.rsplit("/", 1)[-1]


def read(path, is_wanted, frames_of):
    stacks = collections.Counter()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            stack, count = line.rstrip("\n").rsplit(" ", 1)
            if is_wanted(stack):
                stacks[frames_of(stack.split(";"))] += int(count)
    return stacks


def without_native(stacks):
    result = collections.Counter()
    for stack, count in stacks.items():
        result[tuple(one for one in stack if one[1] or NO_NAME in one[0])] += count
    return result


def without_files(stacks, names):
    result = collections.Counter()
    for stack, count in stacks.items():
        result[tuple((one[0], NO_FILE) if one[0] in names else one for one in stack)] += count
    return result


def common(ours, spy):
    """How many frames are the same from the outermost on."""
    count = 0
    while count < min(len(ours), len(spy)) and ours[count] == spy[count]:
        count += 1
    return count


def is_part(part, whole):
    rest = iter(whole)
    return all(frame in rest for frame in part)


def difference(ours, spy):
    if any(NO_NAME in one[0] for one in ours):
        return NO_NAME
    if spy in (ours[:-1], ours + spy[-1:]):
        return "leaf entered or left"
    return MORE if is_part(spy, ours) else "other functions"


CLASSES = ["leaf entered or left", NO_NAME, MORE, "other functions"]


def unlikeness(ours, spy):
    kind = difference(ours, spy)
    return CLASSES.index(kind), len(ours) if kind == MORE else -common(ours, spy)


def main():
    name, ours_path, spy_path = sys.argv[1:]
    ours = read(ours_path, lambda stack: ";ptrace_stop_[k];" in stack,
                lambda stack: tuple(frame_of_ours(one) for one in stack if one.endswith("_[r]")))
    spy = read(spy_path, lambda stack: True,
               lambda stack: tuple(frame_of_spy(one) for one in stack if not one.startswith(UNKNOWN)))
    if all(one[1] for stack in spy for one in stack):
        ours = without_native(ours)
    names = {one[0] for stack in spy for one in stack if one[1] == NO_FILE}
    ours, spy = without_files(ours, names), without_files(spy, names)
    equal = ours & spy
    frames = right = sum(len(stack) * count for stack, count in equal.items())
    stops, left = sum(spy.values()), ours - equal
    differences, examples = collections.Counter(), {}
    for stack in (spy - equal).elements():
        if not left:
            break
        # The one that is most alike is taken for that of the same instant.
        best = min(left, key=lambda one: unlikeness(one, stack))
        left -= collections.Counter([best])
        kind = difference(best, stack)
        differences[kind] += 1
        examples.setdefault(kind, (best, stack))
        frames += len(stack)
        right += common(best, stack)
    print(f"| {name} | {stops} | {100 * right / max(frames, 1):.2f} | {100 * sum(equal.values()) / max(stops, 1):.2f} | "
          + ", ".join(f"{kind} {count}" for kind, count in differences.most_common()) + " |")
    print(f"# {stops} stacks of rbspy, {sum(ours.values())} samples of such stops", file=sys.stderr)
    for kind, (best, stack) in examples.items():
        at = max(common(best, stack) - 1, 0)
        print(f"# {kind}: ours {best[at:]}, rbspy's {stack[at:]}", file=sys.stderr)


main()
