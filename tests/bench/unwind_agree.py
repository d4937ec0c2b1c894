#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""unwind_agree.py PPROF COMM: reads a profile of `pilotlight record -f pprof --no-kernel` and, on
standard input, the output of `perf script --no-inline -F comm,ip,dso` of the same load, and prints
how far the user stacks of processes whose name matches COMM as a whole agree.

It compares chains of functions, outermost first, of stacks that reach a root (by the rule of
unwind_stacks.py). File and start address identify a function, not the tools' names, so aliases,
versions and demangling do not matter. The function of an address is that of the symbol (.symtab,
.dynsym, debug file) that covers it, else of the .eh_frame entry, else the file; in a PLT it is the
stub.

A sample agrees if the other tool has its chain. Chains are many and samples few, so perf's own
samples show how much agreement is possible: a part of them, as large as our profile, is looked up in
the rest, and the rest in it. Agreement by calls is weaker: each pair of caller and callee of a sample
is somewhere in the other tool's chains. A missing frame makes a pair that does not exist.

Other samples do not agree, and evidence classifies them:
  impossible    a return address is not after a call, or is after a call of another function that
                does not jump to the callee either
  leaf          the other tool has the chain without its leaf
  tail          the other tool has 90 % of the frames, from the root on
  branch        the rest

Impossible stacks are counted among all whole stacks of both tools, agreeing or not. Calls through
registers and memory may go anywhere; calls by name go to the callee file's function of that name.
Signal frames are not checked."""
import collections
import functools
import gzip
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from protobuf import fields, numbers  # noqa: E402
from unwind_binaries import Function, binary_of
import unwind_stacks

KERNEL = 0xFFFF_8000_0000_0000
JUMPS_DEEP = 4
EXAMPLES = 3


class Frame(collections.namedtuple("Frame", "binary address function")):
    """A place in code, by its address in the file; after a call, the call's last byte."""


@functools.lru_cache(None)
def frame_of(path, address):
    binary = binary_of(path) if path.startswith("/") else None
    if not binary or address is None:
        path = path if path.startswith("/") or path == "[vdso]" else "[no file]"
        return Frame(None, 0, Function(path, 0, 0, path))
    return Frame(binary, address, binary.function_at(address))


def import_goes_to(binary, slot, callee):
    """Whether the dynamic linker's value in a slot may lead to `callee`."""
    there = binary_of(callee.path)
    target = there.exports.get(binary.imports.get(slot))
    return target is None or goes_to(there, target, callee)


def slot_of(code, end):
    """The slot of an indirect call or jump of 6 bytes."""
    return end + struct.unpack("<i", code[2:6])[0]


def goes_to(binary, target, callee, depth=JUMPS_DEEP):
    """Whether code at `target` may be in `callee` without a return address of its own."""
    function = binary.function_at(target)
    if function == callee or not function.end:
        return True
    if binary.plt_stub_at(target):
        stub = binary.read(function.start, function.end - function.start)
        at = stub.find(b"\xff\x25", 0, 8)
        return at < 0 or import_goes_to(
            binary, slot_of(stub[at:], function.start + at + 6), callee)
    frame = binary.frame_at(target)
    if callee.path == function.path and frame and frame[0] <= callee.start < frame[1]:
        return True
    jumps = binary.jumps_from(function)
    return None in jumps or depth > 0 and any(
        goes_to(binary, jump, callee, depth - 1) for jump in jumps)


@functools.lru_cache(None)
def why_impossible(caller, callee):
    """Why a frame cannot have called the function; "" if it may have."""
    if not caller.binary or not callee.end:
        return ""
    there = binary_of(callee.path)
    if caller.binary.has_no_caller(caller.address) or there.has_no_caller(callee.start):
        return ""
    code = caller.binary.read(caller.address - 7, 8)
    if len(code) < 8:
        return ""
    end = caller.address + 1
    where = f"{caller.function.path} {end:#x} in {caller.function.name}"
    if code[-6:-4] == b"\xff\x15":
        slot = slot_of(code[-6:], end)
        if import_goes_to(caller.binary, slot, callee):
            return ""
        return f"{where} is behind a call of {caller.binary.imports[slot]}, not {callee.name}"
    if any(code[-n] == 0xFF and code[1 - n] >> 3 & 7 == 2 for n in (2, 3, 4, 6, 7)):
        return ""
    if code[-5] != 0xE8:
        return f"{where} is not behind a call"
    target = end + struct.unpack("<i", code[-4:])[0]
    if goes_to(caller.binary, target, callee):
        return ""
    target = caller.binary.function_at(target)
    return f"{where} is behind a call of {target.name}, not {callee.name}"


def is_root(functions):
    return unwind_stacks.is_root([(function.name, function.path) for function in functions[:2]])


def of_pprof(path):
    """Yields (comm, frames, count), with the outermost frame first."""
    with gzip.open(path) as file:
        messages = collections.defaultdict(list)
        for number, value in fields(file.read()):
            messages[number].append(value)
    texts = [text.decode(errors="replace") for text in messages[6]]
    files, locations = {0: ""}, {}
    for message in map(dict, map(fields, messages[3])):
        files[message[1]] = texts[message.get(5, 0)]
    for message in map(dict, map(fields, messages[4])):
        locations[message[1]] = frame_of(files[message.get(2, 0)], message.get(3, 0))
    for sample in messages[2]:
        comm, ids, count = "", [], 0
        for number, value in fields(sample):
            if number == 1:
                ids += numbers(value)
            elif number == 2:
                count = count or numbers(value)[0]
            elif number == 3 and texts[dict(fields(value)).get(1, 0)] == "comm":
                comm = texts[dict(fields(value)).get(2, 0)]
        yield comm, [locations[i] for i in ids[::-1]], count


def of_perf(lines):
    @functools.lru_cache(None)
    def of_line(line):
        address, path = line.split(None, 1)
        address, path = int(address, 16), path.rstrip()[1:-1].removesuffix(" (deleted)")
        if address >= KERNEL:
            return None
        binary = binary_of(path) if path.startswith("/") else None
        return frame_of(path, binary.to_address(address) if binary else 0)

    comm, frames = None, []
    for line in lines:
        if line[:1] not in ("\t", " ", "\n"):
            if comm is not None:
                yield comm, frames[::-1], 1
            comm, frames = line.strip(), []
        elif line.strip():
            frame = of_line(line)
            if frame:
                frames.append(frame)
    if comm is not None:
        yield comm, frames[::-1], 1


class Stacks:
    """One tool's chains of whole stacks with their counts, and the impossible ones."""

    def __init__(self, samples, wanted):
        self.with_user = self.impossible = 0
        self.chains = collections.Counter()
        self.in_order = []
        self.reasons = {}
        self.why = collections.Counter()
        for comm, frames, count in samples:
            if not frames or not wanted.fullmatch(comm):
                continue
            self.with_user += count
            chain = tuple(frame.function for frame in frames)
            if is_root(chain):
                self.add(frames, chain, count)
        self.whole = sum(self.chains.values())

    def add(self, frames, chain, count):
        self.chains[chain] += count
        self.in_order += [chain] * count
        for caller, callee in zip(frames, chain[1:]):
            reason = why_impossible(caller, callee)
            if reason:
                self.impossible += count
                self.why[reason] += count
                self.reasons[chain] = reason
                break


def share(samples, chains):
    """The percentage of samples with one of these chains."""
    if not samples:
        return "-"
    return f"{100 * sum(chain in chains for chain in samples) / len(samples):.2f}"


def calls_of(chain):
    return zip(chain, chain[1:])


def share_of_calls(samples, chains):
    """The percentage of samples whose calls are all in these chains."""
    calls = {call for chain in chains for call in calls_of(chain)}
    known = collections.Counter(all(call in calls for call in calls_of(c)) for c in samples)
    return f"{100 * known[True] / known.total():.2f}" if samples else "-"


def tree_of(chains):
    tree = {}
    for chain in chains:
        branch = tree
        for function in chain:
            branch = branch.setdefault(function, {})
    return tree


def known_frames(tree, chain):
    """The number of frames, from the root on, that another chain shares."""
    for count, function in enumerate(chain):
        tree = tree.get(function)
        if tree is None:
            return count
    return len(chain)


def class_of(stacks, chain, tree):
    if chain in stacks.reasons:
        return "impossible"
    known = known_frames(tree, chain)
    if known >= len(chain) - 1:
        return "leaf"
    return "tail" if known >= 0.9 * len(chain) else "branch"


def print_classes(title, stacks, others):
    tree = tree_of(others.chains)
    classes = collections.defaultdict(collections.Counter)
    for chain, count in stacks.chains.items():
        if chain not in others.chains:
            classes[class_of(stacks, chain, tree)][chain] = count
    for name in ("impossible", "leaf", "tail", "branch"):
        if name not in classes:
            continue
        print(f"    {title}: {name}: {sum(classes[name].values())} samples,"
              f" {len(classes[name])} chains")
        for chain, count in classes[name].most_common(1 if name in ("leaf", "tail") else EXAMPLES):
            known = known_frames(tree, chain)
            names = [function.name for function in chain]
            names.insert(known, "|")
            print(f"        {count} {' > '.join(names)}")
            if chain in stacks.reasons:
                print(f"            {stacks.reasons[chain]}")


def main():
    wanted = re.compile(sys.argv[2])
    sys.stdin.reconfigure(errors="replace")
    ours = Stacks(of_pprof(sys.argv[1]), wanted)
    perf = Stacks(of_perf(sys.stdin), wanted)
    every = max(2, round(perf.whole / max(1, ours.whole)))
    part = perf.in_order[::every]
    rest = [chain for i, chain in enumerate(perf.in_order) if i % every]
    print(f"{ours.whole}/{ours.with_user} {perf.whole}/{perf.with_user}"
          f" {len(ours.chains)} {len(perf.chains)}"
          f" {share(ours.in_order, perf.chains)} {share(part, set(rest))}"
          f" {share_of_calls(ours.in_order, perf.chains)} {share_of_calls(part, set(rest))}"
          f" {share(perf.in_order, ours.chains)} {share(rest, set(part))}"
          f" {ours.impossible} {perf.impossible}")
    for title, stacks, others in ("ours", ours, perf), ("perf", perf, ours):
        for reason, count in stacks.why.most_common(EXAMPLES):
            print(f"    {title}: impossible {count}: {reason}")
        print_classes(title, stacks, others)


main()
