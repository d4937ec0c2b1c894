#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the chains that Ruby told with those that Pilotlight sampled in the same instants.

	ruby_agree.py NAME OURS.folded RUBY.folded

Ruby told them in the handler of a signal (src/ruby_oracle.c), and OURS is a recording of signal:signal_deliver. So each
chain must be there, with the same functions, files and lines, as often. Of a block Ruby tells the function around it,
so "block in" is left out of our names, too; the lines are those of the block. Of the innermost function of YJIT's code
Ruby tells no line. For a block in C it tells the function of C that made it, which its own backtraces leave out: a chain
of ours that lacks such a function counts as equal, if it is also farther out, with nothing but functions of C and `each`
between. Prints a row of the table in docs/interpreters.md: how many chains and frames are equal; of the frames in equal
chains, how many lines are, and how many have none in ours, as long functions have; how many of our stacks are whole, native
frames included; then the differences.
"""
import collections
import re
import sys

FRAME = re.compile(r"(.*?)(?: \((\([^()]*\)|<[^<>]*>|[^()]*?)(?::(-?\d+))?\))?_\[r\]$")
PREFIX = re.compile(r"^(?:(?:block(?: \(\d+ levels\))?|rescue|ensure) in )+")
NO_NAME = "no name"


def frame_of(text):
    name, path, line = FRAME.match(text).groups()
    return PREFIX.sub("", name), (path or "").rsplit("/", 1)[-1], line or "0"


def read(path, is_wanted, has_root):
    """Chains, and how many are whole. `has_root`: the outermost frame may run nothing, as old versions of Ruby tell it."""
    chains, whole = collections.Counter(), 0
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            stack, count = line.rstrip("\n").rsplit(" ", 1)
            if not is_wanted(stack):
                continue
            chain = [frame_of(one) for one in stack.split(";") if one.endswith("_[r]")]
            del chain[: has_root and len(chain) > 1 and chain[0][:2] == chain[1][:2]]
            chains[tuple(chain)] += int(count)
            whole += 0 if ";[truncated" in stack else int(count)
    return chains, whole


def without_lines(chains):
    result = collections.Counter()
    for chain, count in chains.items():
        result[tuple(frame[:2] for frame in chain)] += count
    return result


def lacked(ours, ruby):
    """The places of Ruby's frames that ours lack; None if ours have others, too."""
    at, places = 0, []
    for place, frame in enumerate(ruby):
        if at < len(ours) and ours[at] == frame:
            at += 1
        else:
            places.append(place)
    return places if at == len(ours) else None


def is_block_in_c(ruby, place):
    """Is that function of C also farther out, and has called others of C, or `each`, that run here?"""
    out = place - 1
    while out >= 0 and ruby[out] != ruby[place] and (not ruby[out][1] or ruby[out][0] == "each"):
        out -= 1
    return not ruby[place][1] and 0 <= out < place - 1 and ruby[out] == ruby[place]


def lacks_blocks_in_c(ours, ruby):
    places = lacked(ours, ruby)
    return places is not None and all(is_block_in_c(ruby, place) for place in places)


def lacks_repeated(ours, ruby):
    places = lacked(ours, ruby)
    return places is not None and all(not ruby[place][1] and ruby[place] in ruby[:place] for place in places)


def common(ours, ruby):
    """How many frames are the same from either end on."""
    most = min(len(ours), len(ruby))
    return max(next((i for i in range(most) if a[i] != b[i]), most)
               for a, b in ((ours, ruby), (ours[::-1], ruby[::-1])))


def difference(ours, ruby):
    if any(NO_NAME in one[0] for one in ours):
        return NO_NAME
    if lacks_blocks_in_c(ours, ruby):
        return "block in C"
    if lacks_blocks_in_c(ours[:-1], ruby):
        return "one more leaf in ours"
    if lacks_blocks_in_c(ours, ruby[:-1]):
        return "one leaf less in ours"
    if lacks_repeated(ours, ruby):
        return "repeated function of C"
    return "other functions"


CLASSES = ["block in C", "one more leaf in ours", "one leaf less in ours", "repeated function of C", NO_NAME,
           "other functions"]


def unlikeness(ours, ruby):
    return CLASSES.index(difference(ours, ruby)), -common(ours, ruby)


def count_lines(ours, ruby):
    """Of the frames of equal chains whose line Ruby tells: how many have the same, another one, and none in ours."""
    ours_by, counts = collections.defaultdict(list), [0, 0, 0]
    for chain in ours.elements():
        ours_by[tuple(frame[:2] for frame in chain)].append([int(frame[2]) for frame in chain])
    for chain in ruby.elements():
        candidates = ours_by[tuple(frame[:2] for frame in chain)]
        if not candidates:
            continue
        lines = [int(frame[2]) for frame in chain]
        best = min(candidates, key=lambda one: sum(a != b and a != 0 != b for a, b in zip(one, lines)))
        candidates.remove(best)
        for a, b in zip(best, lines):
            if b:
                counts[0 if a == b else 1 if a else 2] += 1
    return counts


def main():
    name, ours_path, ruby_path = sys.argv[1:]
    ours, whole = read(ours_path, lambda stack: ";get_signal_[k]" in stack, has_root=False)
    ruby, _ = read(ruby_path, lambda _: True, has_root=True)
    if not ours or not ruby:
        sys.exit(f"{name}: no chain of ours, or none of Ruby's: {ours_path}, {ruby_path}")
    equal_lines, other_lines, no_lines = count_lines(ours, ruby)
    ours, ruby = without_lines(ours), without_lines(ruby)
    samples, chains = sum(ours.values()), sum(ruby.values())
    equal = ours & ruby
    left = ours - equal
    frames = right = sum(len(chain) * count for chain, count in equal.items())
    differences, examples = collections.Counter(), {}
    for chain in (ruby - equal).elements():
        best = min(left, key=lambda one: unlikeness(one, chain), default=())
        left -= collections.Counter([best])
        kind = difference(best, chain)
        differences[kind] += 1
        examples.setdefault(kind, (best, chain))
        frames += len(chain)
        right += len(chain) if kind == "block in C" else common(best, chain)
    same = sum(equal.values())
    print(f"| {name} | {chains} | {100 * (same + differences['block in C']) / max(chains, 1):.2f} % "
          f"| {100 * right / max(frames, 1):.2f} % "
          f"| {equal_lines}, {other_lines} other, {no_lines} none "
          f"| {100 * whole / max(samples, 1):.2f} % | "
          + ", ".join(f"{kind} {count}" for kind, count in differences.most_common()) + " |")
    print(f"# {chains} chains of Ruby, {samples} samples of signals", file=sys.stderr)
    for kind, (best, chain) in examples.items():
        at = max(common(best, chain) - 1, 0)
        print(f"# {kind}: ours {best[at:]}, Ruby's {chain[at:]}", file=sys.stderr)


main()
