#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the stacks that py-spy saw with those that Pilotlight sampled in the same instants.

	python_agree.py NAME OURS.folded SPY.raw

py-spy stops a thread with ptrace before it reads the stack. OURS is a recording of sched:sched_switch: the sample that
has ptrace_stop() in its kernel stack is the one of that stop. So each stack of py-spy must be there, with the same
functions and lines, as often. Prints a row of the table in docs/interpreters.md, then the differences by class.
"""
import collections
import re
import sys

FRAME = re.compile(r"(.*) \(([^()]*?)(?::(\d+))?\)$")


def frame(text):
    match = FRAME.match(text)
    if not match:
        return text, "", ""
    name, path, line = match.groups()
    return name, path.rsplit("/", 1)[-1], line or ""


def read(path, is_wanted, frames_of):
    stacks = collections.Counter()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            stack, count = line.rsplit(" ", 1)
            if is_wanted(stack):
                stacks[frames_of(stack.split(";"))] += int(count)
    return stacks


def functions(stack):
    return [one[:2] for one in stack]


def common(ours, spy):
    """How many frames are the same from the outermost on."""
    count = 0
    while count < min(len(ours), len(spy)) and ours[count] == spy[count]:
        count += 1
    return count


def difference(ours, spy):
    if not ours:
        return "native stack cut"
    if any("no name" in one[0] for one in ours):
        return "no name"
    if functions(ours) == functions(spy):
        return "line of the leaf" if ours[:-1] == spy[:-1] else "line of a caller"
    if functions(ours[:-1]) == functions(spy) or functions(ours) == functions(spy[:-1]):
        return "leaf entered or left"
    return "other functions"


CLASSES = ["line of the leaf", "leaf entered or left", "line of a caller", "no name", "native stack cut", "other functions"]


def without_line(stack):
    """CPython gives no line to the instructions that make a closure's cells; py-spy gives them the first one."""
    return stack[:-1] + (stack[-1][:2] + ("",),) if stack else stack


def main():
    name, ours_path, spy_path = sys.argv[1:]
    ours = read(ours_path, lambda stack: ";ptrace_stop_[k];" in stack,
                lambda stack: tuple(frame(one[:-4]) for one in stack if one.endswith("_[p]")))
    spy = read(spy_path, lambda stack: True, lambda stack: tuple(frame(one) for one in stack if "<shim>" not in one))
    stops, samples = sum(spy.values()), sum(ours.values())
    for stack in [one for one in ours if one and one[-1][2] == ""]:
        for other in [one for one in spy - ours if without_line(one) == stack]:
            count = min(ours[stack], spy[other] - ours[other])
            ours[stack] -= count
            ours[other] += count
    ours = +ours
    equal, pairs = ours & spy, min(stops, samples)
    frames = right = sum(len(stack) * count for stack, count in equal.items())
    left, differences, examples = list((spy - equal).elements()), collections.Counter(), {}
    for stack in list((ours - equal).elements())[:pairs - sum(equal.values())]:
        # The one that is most alike is taken for that of the same instant.
        best = min(left, key=lambda one: (CLASSES.index(difference(stack, one)), -common(stack, one)))
        left.remove(best)
        kind = difference(stack, best)
        differences[kind] += 1
        examples.setdefault(kind, (stack, best))
        frames += len(best)
        right += len(best) - 1 if kind == CLASSES[0] else common(stack, best)
    print(f"| {name} | {pairs} | {100 * right / max(frames, 1):.2f} | {100 * sum(equal.values()) / max(pairs, 1):.2f} | "
          + ", ".join(f"{kind} {count}" for kind, count in differences.most_common()) + " |")
    print(f"# {stops} stacks of py-spy, {samples} samples of such stops", file=sys.stderr)
    for kind, (stack, best) in examples.items():
        at = max(common(stack, best) - 1, 0)
        print(f"# {kind}: ours {stack[at:]}, py-spy's {best[at:]}", file=sys.stderr)


main()
