#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the stacks that V8's own profiler saw with those that Pilotlight sampled in the same instants.

	node_agree.py NAME OURS.folded THEIRS.cpuprofile

V8's profiler sends a signal to the thread, and reads the stack in its handler. OURS is a recording of
signal:signal_deliver, so each of its samples is one of the profiler's, and must be there as often. A function is a name
and the base name of a file. V8's own functions are left out, as its profiler shows only some, and what has no file.
Prints a row: the samples, the share of functions from the outermost on and of whole chains that are the same, and how
many differ by class; then examples. "leaf more" and "leaf missing" is the innermost function alone.
"""
import collections
import json
import re
import sys
import urllib.parse

OURS = "_[v]"
NO_NAME = ("[no name]", "")
FRAME = re.compile(r"(.*) \(([^()]*?)(?::(\d+))?\)$")
NAME_CHARACTERS = 100
COLLECTION = re.compile(r"v8::internal::(Heap|Scavenger|MarkCompact|IncrementalMarking|MinorMC|LocalHeap)")


def our_stacks(path):
    """Chains of functions, and whether memory was being collected."""
    stacks = collections.Counter()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            stack, count = line.rstrip("\n").rsplit(" ", 1)
            if "get_signal" not in stack:
                continue
            chain = []
            for text in stack.split(";"):
                match = FRAME.match(text[:-len(OURS)]) if text.endswith(OURS) else None
                if match:
                    chain.append((match.group(1)[:NAME_CHARACTERS], match.group(2)))
                elif text.startswith("[javascript: no name"):
                    chain.append(NO_NAME)
            stacks[tuple(chain), stack] += int(count)
    return stacks


def their_stacks(path):
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    chains, parents = {}, {}
    nodes = {node["id"]: node for node in profile["nodes"]}
    for node in profile["nodes"]:
        for child in node.get("children", []):
            parents[child] = node["id"]

    def chain_of(node):
        way = []
        while node is not None and node not in chains:
            way.append(node)
            node = parents.get(node)
        chain = chains[node] if node is not None else ()
        for one in reversed(way):
            call = nodes[one]["callFrame"]
            if call["url"] and not call["url"].startswith("wasm:"):
                file = urllib.parse.unquote(call["url"]).rsplit("/", 1)[-1]
                chain += (((call["functionName"] or "(anonymous)")[:NAME_CHARACTERS], file),)
            chains[one] = chain
        return chain

    return collections.Counter(map(chain_of, profile["samples"]))


def common(ours, theirs):
    """How many functions are the same from the outermost on."""
    count = 0
    while count < min(len(ours), len(theirs)) and ours[count] == theirs[count]:
        count += 1
    return count


def without(long, short):
    """Is the short chain the long one without some of its functions?"""
    rest = iter(long)
    return all(one in rest for one in short)


CLASSES = ["no name", "leaf missing", "leaf more", "outer functions missing", "functions missing", "functions more",
           "other functions"]


def difference(ours, theirs):
    if NO_NAME in ours:
        return CLASSES[0]
    if ours == theirs[:-1]:
        return CLASSES[1]
    if ours[:-1] == theirs:
        return CLASSES[2]
    if ours and ours == theirs[-len(ours):]:
        return CLASSES[3]
    if ours and without(theirs, ours):
        return CLASSES[4]
    if theirs and without(ours, theirs):
        return CLASSES[5]
    return CLASSES[6]


def main():
    name, ours_path, path = sys.argv[1:]
    stacks, theirs = our_stacks(ours_path), their_stacks(path)
    ours, collected, full = collections.Counter(), collections.Counter(), {}
    for (chain, stack), count in stacks.items():
        # V8's profiler does not look at the stack then.
        (collected if COLLECTION.search(stack) else ours)[chain] += count
        full.setdefault(chain, stack)
    equal = ours & theirs
    left, differences, examples = list((theirs - equal).elements()), collections.Counter(), {}
    rest = list((ours - equal).elements())
    frames = right = sum(len(chain) * count for chain, count in equal.items())
    unseen = 0
    for chain in rest:
        # The one that is most alike is taken for that of the same instant.
        best = min(left, key=lambda one: (CLASSES.index(difference(chain, one)), -common(chain, one)), default=())
        kind = difference(chain, best)
        if kind == CLASSES[6] and common(chain, best) == 0:
            unseen += 1
            kind = "none alike"
        else:
            left.remove(best)
            frames += len(best)
            right += common(chain, best)
        differences[kind] += 1
        examples.setdefault(kind, []).append((chain, best))
    total = sum(ours.values())
    print(f"| {name} | {total} | {100 * right / max(frames, 1):.2f} | {100 * sum(equal.values()) / max(total, 1):.2f} | "
          + ", ".join(f"{kind} {count}" for kind, count in differences.most_common()) + " |", flush=True)
    print(f"# V8's profiler: {sum(theirs.values())} samples; ours {total}, {sum(collected.values())} more of collections",
          file=sys.stderr)
    for kind, pairs in examples.items():
        for chain, best in pairs[:3]:
            at = max(common(chain, best) - 1, 0)
            print(f"# {kind}: ours {chain[at:][:6]}, V8's {best[at:][:6]}\n#   {full[chain][-600:]}", file=sys.stderr)


main()
