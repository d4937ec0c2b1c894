#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the chains of Java methods that async-profiler saw with those that Pilotlight sampled in the same instants.

	java_agree.py NAME OURS.folded THEIRS.collapsed

async-profiler has a timer for each thread, whose signal interrupts it. OURS is a recording of signal:signal_deliver, whose
sample is taken at the same instruction: each chain of the other must be there, as often. Prints a row of the table in
docs/interpreters.md, then the differences by class.
"""
import collections
import re
import sys

# What a process makes up: behind hidden classes, such as those of lambdas.
MADE_UP = re.compile(r"[.+/]0x[0-9a-f]+(?:/0x[0-9a-f]+)?")
LINE = re.compile(r" \([^()]*\)$")
THEIRS = re.compile(r"_\[[01ij]\]$")
# HotSpot sends itself signals, too, such as for a null pointer.
FAULTS = ("asm_exc_", "_sys_")
CUT = "[truncated]"
TEXT_MAX = 128  # of a class, or of a method with its signature
outer = {}


def method(text):
    """Of a name that was cut at either end, the rest is the same."""
    name = MADE_UP.sub("", text.replace("/", ".")).split("(")[0]
    owner, _, called = name.rpartition(".")
    return owner[-TEXT_MAX + 20:] + "." + called


def read(path, chain_of, is_wanted=lambda stack: True):
    chains = collections.Counter()
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            stack, count = line.rstrip("\n").rsplit(" ", 1)
            if is_wanted(stack):
                chains[chain_of(stack.split(";"))] += int(count)
    return chains


def own_chain(frames):
    """Begins with CUT if a method has no callers."""
    java = [one.endswith("_[j]") for one in frames] + [False]
    cut = any(one.startswith(CUT[:-1]) and java[i + 1] for i, one in enumerate(frames))
    return (CUT,) * cut + tuple("?" if one.startswith("[jit: unknown]") else method(LINE.sub("", one[:-4])) for one in frames
                                if one.endswith("_[j]") and "." in one or one.startswith("[jit: unknown]"))


def their_chain(frames):
    """Also how many methods there are up to the compiled one that runs, which contains the others."""
    methods = [one for one in frames if THEIRS.search(one)]
    chain = tuple(method(one[:-4]) for one in methods)
    outer[chain] = max((i + 1 for i, one in enumerate(methods) if not one.endswith("_[i]")), default=0)
    return chain


def common(one, other):
    """How many frames are the same from the outermost on."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


CLASSES = ["an unnamed stub runs", "ours has more in the one that runs", "theirs has more in it", "others in it", "theirs is cut",
           "ours is cut", "too many methods", "not named in time", "the leaf", "other"]
METHODS_MAX = 255  # of a stack of ours
IN_LEAF = CLASSES[:4]


def difference(ours, theirs):
    same = common(ours, theirs)
    if ours == theirs + ("?",):
        return CLASSES[0]
    if same >= outer[theirs] > 0:
        return CLASSES[1 if same == len(theirs) else 2 if same == len(ours) else 3]
    if same == 0 and CUT not in ours and "?" not in ours[:-len(theirs)] and ours[-len(theirs):] == theirs:
        return CLASSES[4]
    if ours[0] == CUT:
        return CLASSES[5]
    if "?" in ours:
        return CLASSES[6 if len(ours) > METHODS_MAX else 7]
    return CLASSES[8] if same >= max(len(ours), len(theirs)) - 1 else CLASSES[9]


def shares(chains):
    """Of each method: of the samples in it, and of those in it or in what it calls."""
    own, whole, all_count = collections.Counter(), collections.Counter(), sum(chains.values())
    for chain, count in chains.items():
        if chain:
            own[chain[-1]] += 100 * count / all_count
        for one in set(chain):
            whole[one] += 100 * count / all_count
    return own, whole


def pair(ours, theirs):
    """Pairs the chains that have no equal with those that are most alike. Returns the class, ours and theirs of each."""
    pairs, left, others = [], ours.copy(), theirs.copy()
    for kind in CLASSES:
        for chain in list(left):
            alike = sorted((one for one in others if difference(chain, one) == kind), key=lambda one: -common(chain, one))
            for best in alike:
                count = min(left[chain], others[best])
                pairs += [(kind, chain, best)] * count
                left[chain] -= count
                others[best] -= count
        left, others = +left, +others
    return pairs


def main():
    name, own_path, their_path = sys.argv[1:]
    ours = read(own_path, own_chain, lambda stack: not any(one in stack for one in FAULTS))
    theirs = read(their_path, their_chain)
    both = "%d samples, %d of async-profiler, " % (sum(ours.values()), sum(theirs.values()))
    both += "%d and %d without a method" % (ours.pop((), 0), theirs.pop((), 0))
    equal = ours & theirs
    pairs = min(sum(ours.values()), sum(theirs.values()))
    right = frames = sum(len(chain) * count for chain, count in equal.items())
    differences, examples = collections.Counter(), collections.defaultdict(list)
    for kind, chain, best in pair(ours - equal, theirs - equal):
        differences[kind] += 1
        examples[kind].append((chain, best))
        frames += max(len(chain), len(best))
        right += common(chain, best)
    far = [max((abs(mine[one] - other[one]), one) for one in set(mine) | set(other))
           for mine, other in zip(shares(ours), shares(theirs))]
    same = sum(equal.values())
    print(f"| {name} | {pairs} | {100 * right / max(frames, 1):.2f} % | {100 * same / max(pairs, 1):.2f} % | "
          f"{100 * (same + sum(differences[one] for one in IN_LEAF)) / max(pairs, 1):.2f} % | "
          f"{far[0][0]:.2f}, {far[1][0]:.2f} | " + ", ".join(f"{kind} {count}" for kind, count in differences.most_common()) + " |")
    print("# " + both, file=sys.stderr)
    for kind, some in examples.items():
        for chain, best in some[:6]:
            at = max(common(chain, best) - 1, 0)
            print(f"# {kind}, frame {at}: ours {chain[at:]}, theirs {best[at:]}", file=sys.stderr)


main()
