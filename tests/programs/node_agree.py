#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the stacks that V8's own profiler saw with those that Pilotlight sampled in the same instants.

	node_agree.py NAME OURS.pb.gz V8.log PERF.data

V8's profiler sends a signal to the thread, and reads the stack in its handler. OURS is a recording of
signal:signal_deliver, so each of its samples is one of the profiler's; they are paired by the time, which the recording
has to 10 ms. V8.log is of node --prof: the addresses of each frame, and V8's own table of what is inlined where. PERF is
a recording of the return from the same handlers, with the stack's memory. A function is a name and the base name of a
file. V8's own functions are left out, and what has no file, and WebAssembly.

Where the leaf has made no frame yet, or never makes one, V8's profiler takes the frame pointer for the leaf's, and so
leaves out the caller; or it sees that, and drops the stack. There the stack in memory says what is right
(node_memory.py). Prints a row: the samples that have functions on either side; the share of functions, from the outermost
on, and of chains, that are equal; the chains as --cpu-prof would show them, without what is inlined at the leaf; the
same chains with those of V8's dropped or shortened stacks that memory proves; and the classes of the rest.
"""
import bisect
import collections
import gzip
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from check_chains import fields, numbers  # noqa: E402
import node_log  # noqa: E402
import node_memory  # noqa: E402

NO_NAME = ("[no name]", "")
BUCKET = 10000
MARGIN = 3000
FAR = 2000000
PAGE = 4096
UNTABLED = "[truncated: no unwind table]"  # node's is being made
INTERPRETED = 1 << 40  # beyond all addresses in files
KERNEL_ENTRIES = ("asm_", "entry_SYSCALL", "syscall_return")

# The time in microseconds, the functions, and the innermost frame of user code: name and address.
Sample = collections.namedtuple("Sample", "time functions leaf address")


def our_samples(path):
    texts, functions, locations, packed = [], {}, {}, []
    with gzip.open(path) as file:
        for number, value in fields(file.read()):
            if number == 6:
                texts.append(value.decode(errors="replace"))
            elif number == 5:
                function = dict(fields(value))
                functions[function[1]] = (function.get(2, 0), function.get(4, 0))
            elif number == 4:
                parts = list(fields(value))
                lines = [dict(fields(line)).get(1, 0) for key, line in parts if key == 4]
                locations[dict(parts)[1]] = (dict(parts).get(3, 0), lines)
            elif number == 2:
                packed.append(value)
    frames = {number: [(texts[functions[line][0]], texts[functions[line][1]], address) for line in lines]
              for number, (address, lines) in locations.items()}
    samples = (sample_of(value, frames, texts) for value in packed)
    return sorted(sample for sample in samples if sample)


def sample_of(packed, frames, texts):
    stack, labels = [], {}
    for number, value in fields(packed):
        if number == 1:
            stack += [frame for location in numbers(value) for frame in frames[location]]
        elif number == 3:
            label = dict(fields(value))
            labels[texts[label.get(1, 0)]] = label.get(3, 0)
    stack.reverse()
    names = [frame[0] for frame in stack]
    if "get_signal" not in names or labels["pid"] != labels["tid"] or names[0] == UNTABLED:
        return None
    user = next(at for at, name in enumerate(names) if name.startswith(KERNEL_ENTRIES) or name == "get_signal")
    chain = []
    for name, file, address in stack[:user]:
        if name.startswith("[javascript: no name"):
            chain.append(NO_NAME)
        elif address >= INTERPRETED and file and not file.startswith("wasm:"):
            chain.append((name[:node_log.NAME_CHARACTERS], file.rsplit("/", 1)[-1]))
    leaf, _, address = stack[user - 1] if user else ("", "", 0)
    return Sample(labels["timestamp_ns"] // 1000, tuple(chain), leaf, address)


def most_common(distances):
    """How much later most others are, to half a bucket: the clocks begin at different times."""
    votes = collections.Counter(distance // (BUCKET // 2) for distance in distances)
    best = max(votes, key=lambda vote: votes[vote] + votes[vote + 1], default=0)
    return best * (BUCKET // 2)


def pair_samples(samples, ticks):
    """The samples with the only tick near them. On a quiet machine signals come at equal intervals, so that times
    alone do not tell how far the clocks are apart: most addresses must agree, too."""
    times = [tick.time for tick in ticks]

    def paired(chosen, distance):
        for sample in chosen:
            first = bisect.bisect_left(times, sample.time + distance - MARGIN)
            last = bisect.bisect_left(times, sample.time + distance + BUCKET + MARGIN)
            if last == first + 1:
                yield sample, ticks[first]

    def agreed(chosen, distance):
        return sum(tick.pc != 0 and sample.address < INTERPRETED and may_be(sample, tick)
                   for sample, tick in paired(chosen, distance))

    def best(chosen, distances):
        counts = {distance: agreed(chosen, distance) for distance in distances}
        most = [distance for distance, count in counts.items() if count == max(counts.values())]
        return most[len(most) // 2]

    some = samples[::max(len(samples) // 500, 1)]
    about = most_common(time - sample.time for sample in some[::2] for time in times)
    about = best(some, range(about - FAR, about + FAR, BUCKET // 4))
    distance = best(samples, range(about - 2 * BUCKET, about + 2 * BUCKET, 500))
    return [pair for pair in paired(samples, distance) if may_be(*pair)]


def may_be(sample, tick):
    """A file's place in memory is that of a page. Of a system call the recording has the call's last byte."""
    return tick.pc == 0 or sample.address >= INTERPRETED or (tick.pc - sample.address) % PAGE <= 1


def walk_memory(log, ticks, pairs, path):
    """The walk of each tick whose signal perf has."""
    signals = node_memory.read_signals(path)
    times = [signal.time for signal in signals]
    by_ip = collections.defaultdict(list)
    for signal in signals:
        by_ip[signal.ip].append(signal.time)
    distance = BUCKET // 2 + most_common(time - tick.time for tick in ticks for time in by_ip[tick.pc][:100])
    copied = collections.Counter(sample.address - tick.pc for sample, tick in pairs
                                 if sample.leaf.startswith("Builtins_") and tick.pc and sample.address != tick.pc)
    copied_by = copied.most_common(1)[0][0] if copied else 0
    walks = {}

    def look(tick, codes):
        at = tick.time + distance
        near = signals[bisect.bisect_left(times, at - BUCKET):bisect.bisect_left(times, at + BUCKET)]
        found = min((signal for signal in near if tick.pc in (0, signal.ip)),
                    key=lambda signal: abs(signal.time - at), default=None)
        if found:
            walks[tick.time] = node_memory.Walk(codes, copied_by, found)

    node_log.read_ticks(log, look)
    return walks


def common(ours, theirs):
    """How many functions are the same from the outermost on."""
    count = 0
    while count < min(len(ours), len(theirs)) and ours[count] == theirs[count]:
        count += 1
    return count


EQUAL, PROVED_MORE, PROVED_DROPPED = "equal", "V8 leaves out the caller", "V8 drops the stack"
ENTERED, NAMELESS, OUTER, MORE, MISSING, OTHER = (
    "no function that is being entered", "no name", "no outer functions", "more, not proved", "functions missing",
    "other functions")


def difference(ours, tick, walk):
    theirs = tick.functions
    if ours == theirs:
        return EQUAL
    if walk and ours == walk.functions:
        return PROVED_DROPPED if tick.pc == 0 else PROVED_MORE
    if walk and walk.entered and ours == walk.functions[:len(ours)]:
        return ENTERED
    if NO_NAME in ours:
        return NAMELESS
    if ours == theirs[len(theirs) - len(ours):]:
        return OUTER
    if ours[:len(theirs)] == theirs:
        return MORE
    rest = iter(theirs)
    return MISSING if all(one in rest for one in ours) else OTHER


def main():
    name, ours_path, log, perf = sys.argv[1:]
    samples, ticks = our_samples(ours_path), node_log.read_ticks(log)
    pairs = [(sample, tick) for sample, tick in pair_samples(samples, ticks) if not tick.collecting]
    walks = walk_memory(log, ticks, pairs, perf)
    # The walk of what V8 sees whole is checked, too.
    checked = collections.Counter(walks[tick.time].functions == tick.functions for sample, tick in pairs
                                  if tick.time in walks and sample.functions == tick.functions and tick.functions)
    pairs = [(sample.functions, tick, sample) for sample, tick in pairs if sample.functions or tick.functions]
    kinds, examples, frames, right, profiled = collections.Counter(), {}, 0, 0, 0
    for ours, tick, sample in pairs:
        walk = walks.get(tick.time)
        kind = difference(ours, tick, walk)
        truth = walk.functions if walk and kind in (PROVED_MORE, PROVED_DROPPED, ENTERED) else tick.functions
        kinds[kind] += 1
        frames += len(truth)
        right += common(ours, truth)
        profiled += ours == tick.profiled
        examples.setdefault(kind, []).append((ours, tick, walk, sample))
    total = max(len(pairs), 1)
    proved = kinds[EQUAL] + kinds[PROVED_MORE] + kinds[PROVED_DROPPED]
    print(f"| {name} | {len(pairs)} | {100 * right / max(frames, 1):.2f} | {100 * kinds[EQUAL] / total:.2f} | "
          f"{100 * profiled / total:.2f} | {100 * proved / total:.2f} | "
          + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common() if kind != EQUAL) + " |", flush=True)
    print(f"# {len(samples)} samples, {len(ticks)} ticks of V8's, {len(walks)} walked in memory; where both agree, memory"
          f" does in {checked[True]} of {sum(checked.values())}", file=sys.stderr)
    for kind, found in examples.items():
        for ours, tick, walk, sample in found[:4 if kind != EQUAL else 0]:
            at = max(common(ours, tick.functions) - 1, 0)
            print(f"# {kind}: ours {ours[at:][:6]} leaf {sample.leaf} {sample.address:#x}, V8's {tick.functions[at:][:6]}, "
                  f"memory {walk and walk.functions[at:][:6]}, V8's leaf {tick.leaf and tick.leaf.name} {tick.pc:#x}",
                  file=sys.stderr)


main()
