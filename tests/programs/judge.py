#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""judge.py [BOUND=VALUE]... [--plant DEFECT] [--row FILE] --ours PPROF --stacks SCRIPT --leaves SCRIPT

Judges our profile of a program: by two recordings of the same seconds by perf, for whole stacks and for leaves; by the
symbols of its files (names.py); and by the calls in its code (check_chains.py). Prints the figures, a line each: ok or
not ok, the column, and what it says. Fails if a figure is beyond its bound. programs.table lists the bounds.

--row writes the figures as a row of the table in docs/programs.md. --plant puts a defect into our profile: whole,
roots, leaf, chains, unnamed or misnamed. The column of that name must then fail."""
import collections
import math
import re
import sys

import names
from profiles import NO_FILE, binary_of, of_perf, of_pprof
import check_chains

BOUNDS = {"whole": 99.5, "oracle": 0.3, "unnamed": 0.1, "misnamed": 0.1, "leaf": 2, "roots": 0.1, "chains": 0.1}
check_chains.JUMPS_MAX = 4  # operator delete[] takes three to reach free()
SAMPLES_MIN = 300
ORACLE_MIN = 50
LEAVES = 10
SHOWN = 5
ENTRY_BYTES = 96  # Free Pascal's entry calls at 0x43
PLANTED = 10  # each tenth stack

# The first code of a program, of a thread, of a coroutine, or of a stack of Go's runtime. The parent's side of clone()
# is no root, and it is a leaf.
ROOT = re.compile(
    r"_*start|_dl_start_user|thread_start|"
    r"runtime\.(goexit|mstart|mcall|systemstack|morestack|asmcgocall|rt0_go|gogo)\b.*|_rt0_amd64.*|gogo|"
    r"__start_context|(jump|make|ontop)_fcontext|trampoline|finish")
ROOT_ABOVE_LEAF = re.compile(r"_*(GI_+)*clone3?|__clone_internal")
# No call of the caller leads to the callee: the caller's first code only waits below it, or a signal put it there, as it
# does the code that returns from its handler.
# Until Go 1.20, the callers of what switches stacks have no frame.
CALLED_BY_NONE = re.compile(r"(runtime\.goexit\S*|make_fcontext) -> |"
                            r".* -> (runtime\.(asyncPreempt|systemstack|mcall|morestack|sigreturn__sigaction\S*)|__restore_rt)")
CALLED_BY_ROOT = re.compile(r"_*libc_start_main(_impl|@.*)?|__libc_start_call_main")
LINKER = re.compile(r"/ld-linux|/ld-musl|/ld-[0-9.]+so")


def percent(part, whole):
    return 100 * part / whole if whole else 0.0


def is_root(frames):
    """Whether the outermost of these frames is a root. Debian's programs do not name theirs."""
    outermost = frames[0]
    binary = binary_of(outermost.path) if outermost.path != NO_FILE else None
    known = {names.plain(outermost.name)}
    if binary:
        known.add(names.plain(binary.function_at(outermost.address).name))
    if any(map(ROOT.fullmatch, known)) or LINKER.search(outermost.path):
        return True
    if len(frames) > 1 and (any(map(ROOT_ABOVE_LEAF.fullmatch, known)) or
                            CALLED_BY_ROOT.fullmatch(names.plain(frames[1].name))):
        return True
    return bool(binary) and 0 <= outermost.address - binary.elf.entry < ENTRY_BYTES


class Stacks:
    def __init__(self, stacks):
        self.stacks = list(stacks)
        self.count = sum(stack.count for stack in self.stacks)
        self.in_user = [stack for stack in self.stacks if stack.frames]
        self.user_count = sum(stack.count for stack in self.in_user)

    def counted(self, function):
        counts = collections.Counter()
        for stack in self.in_user:
            key = function(stack)
            if key:
                counts[key] += stack.count
        return counts


def shown(counts, whole, most=SHOWN):
    return ", ".join(f"{percent(count, whole):.2f} % {what}" for what, count in counts.most_common(most))


def brief(name):
    """Without the arguments of templates and functions, which fill lines."""
    before = ""
    while before != name:
        before, name = name, re.sub(r"<[^<>]*>|\([^()]*\)", "", name)
    return name[:100]


def place(frame):
    return brief(frame.name) or f"[{frame.path.rsplit('/', 1)[-1]}+{frame.address:#x}]"


class Judge:
    def __init__(self, ours, stacks, leaves, bounds):
        self.ours, self.theirs, self.leaves, self.bounds = ours, stacks, leaves, bounds
        self.has_failed = False
        self.row = []

    def say(self, is_ok, column, *texts):
        self.has_failed |= not is_ok
        print("ok    " if is_ok else "not ok", f"{column:8}", *[text for text in texts if text])

    def judge(self):
        enough = self.ours.user_count >= SAMPLES_MIN
        self.say(enough, "samples", f"{self.ours.user_count} ours, {self.theirs.user_count} stacks of perf,"
                                    f" {self.leaves.count} leaves of perf")
        self.judge_whole()
        self.judge_roots()
        self.judge_names()
        self.judge_leaves()
        self.judge_chains()

    def judge_whole(self):
        """By perf's share, too, within the noise of two samplings, which is small where all are whole."""
        cut = self.ours.counted(lambda stack: stack.cut)
        whole = percent(self.ours.user_count - cut.total(), self.ours.user_count)
        theirs = self.theirs.counted(lambda stack: is_root(stack.frames))
        oracle = percent(theirs[True], self.theirs.user_count)
        has_oracle = self.theirs.user_count >= ORACLE_MIN
        self.say(whole >= self.bounds["whole"], "whole", f"{whole:.2f} %")
        lacks = self.bounds["oracle"] + 100 * noise(self.ours.user_count - cut.total(), self.ours.user_count,
                                                   theirs[True], self.theirs.user_count)
        self.say(not has_oracle or whole >= oracle - lacks, "oracle",
                 f"{oracle:.2f} %" if has_oracle else "none")
        reasons = shown(cut, self.ours.user_count)
        self.row += [f"{whole:.2f}", f"{oracle:.2f}" if has_oracle else "-", reasons]
        for title, stacks, which in ("cut", self.ours, lambda s: s.cut and f"{s.cut} at {place(s.frames[0])}"), (
                "theirs", self.theirs, lambda s: not is_root(s.frames) and f"at {place(s.frames[0])}"):
            found = stacks.counted(which)
            if found:
                print(f"       {title:8}", shown(found, stacks.user_count))
        if reasons:
            print("       reasons ", reasons)

    def judge_roots(self):
        """Where perf ends as often, the stack does end: a coroutine's first function, with a return address of 0."""
        ours = self.ours.counted(
            lambda stack: not stack.cut and not is_root(stack.frames) and place_of_function(stack.frames[0]))
        theirs = self.theirs.counted(lambda stack: place_of_function(stack.frames[0]))
        false = collections.Counter()
        for where, count in ours.items():
            here, there = count / self.ours.user_count, theirs[where] / max(1, self.theirs.user_count)
            if here > there + noise(count, self.ours.user_count, theirs[where], self.theirs.user_count):
                false[where] = count
        share = percent(false.total(), self.ours.user_count)
        self.say(share <= self.bounds["roots"], "roots", f"{share:.2f} % false", shown(false, self.ours.user_count))
        if ours.total() > false.total():
            print("        as perf", shown(ours - false, self.ours.user_count))

    def judge_names(self):
        frames = unnamed_leaves = 0
        per_frame = collections.Counter()
        for stack in self.ours.in_user:
            frames += stack.count * len(stack.frames)
            for frame in stack.frames:
                per_frame[frame] += stack.count
            leaf = stack.frames[-1]
            if not stack.in_kernel and not leaf.name and known_names(leaf):
                unnamed_leaves += stack.count
        known = {frame: names_in_file for frame in per_frame if (names_in_file := known_names(frame))}
        ways = names.demangled(set().union(*known.values()))
        unnamed, misnamed = collections.Counter(), collections.Counter()
        for frame, names_in_file in known.items():
            counts = misnamed if frame.name else unnamed
            if not names.is_way(frame.name, set().union(*(ways[name] for name in names_in_file))):
                counts[f"{frame.name[:200] or place(frame)} is {min(names_in_file)[:200]}"] += per_frame[frame]
        leaf = percent(unnamed_leaves, self.ours.user_count)
        share = percent(unnamed.total(), frames)
        self.row.append(f"{max(leaf, share):.2f}")
        self.say(max(leaf, share) <= self.bounds["unnamed"], "unnamed",
                 f"{leaf:.2f} % of leaves, {share:.2f} % of frames", shown(unnamed, frames))
        share = percent(misnamed.total(), frames)
        self.say(share <= self.bounds["misnamed"], "misnamed", f"{share:.2f} % of frames", shown(misnamed, frames))

    def judge_leaves(self):
        ours, theirs = leaf_counts(self.ours), leaf_counts(self.leaves)
        total, of = ours.total(), theirs.total()
        if not total or not of:
            self.say(False, "leaf", "no leaves")
            return
        worst, example, beyond = 0, "", []
        for key, _ in (ours + theirs).most_common(LEAVES):
            here, there = ours[key] / total, theirs[key] / of
            difference = 100 * abs(here - there)
            text = f"{100 * here:.1f} % ours, {100 * there:.1f} % theirs of {key}"
            if difference > self.bounds["leaf"] + 100 * noise(ours[key], total, theirs[key], of):
                beyond.append(text)
            if difference >= worst:
                worst, example = difference, text
        self.row.append(f"{worst:.1f}")
        self.say(not beyond, "leaf", f"{worst:.1f} points at most:", "; ".join(beyond) or example)

    def judge_chains(self):
        samples = [("", stack.count, stack.frames[::-1]) for stack in self.ours.in_user]
        result = check_chains.check_samples(samples, check_chains.Checker(), CALLED_BY_NONE)
        share = percent(result.wrong_chains, result.chains)
        self.row.append(f"{share:.2f}")
        self.say(share <= self.bounds["chains"], "chains", f"{share:.2f} % unexplained",
                 shown(result.wrong, result.chains))


def noise(part, whole, other_part, other_whole):
    """Three standard deviations of the difference of two shares that are the same but for the sampling."""
    if not whole or not other_whole:
        return 1
    both = (part + other_part) / (whole + other_whole)
    return 3 * math.sqrt(both * (1 - both) * (1 / whole + 1 / other_whole))


def place_of_function(frame):
    """The function's place, whatever the tools call it. Code of unknown functions counts by 64 bytes."""
    binary = binary_of(frame.path) if frame.path != NO_FILE else None
    if not binary:
        return frame.path
    function = binary.function_at(frame.address)
    return f"{brief(function.name)} {function.start if function.end else frame.address & -64:#x}"


def leaf_counts(stacks):
    counts = collections.Counter()
    for stack in stacks.stacks:
        if stack.in_kernel or not stack.frames:
            counts["the kernel"] += stack.count
            continue
        counts[place_of_function(stack.frames[-1])] += stack.count
    return counts


def known_names(frame):
    """The names that the frame's file has for it."""
    return names.names_of(frame.path).at(frame.address) if frame.path != NO_FILE else set()


# --- planted defects --------------------------------------------------------------------------------

def planted(defect, stacks):
    """Puts a defect into each tenth stack."""
    for turn, stack in enumerate(stacks):
        if turn % PLANTED == 0 and stack.frames and not stack.cut:
            stack = PLANTS[defect](stack)
        yield stack


def plant_name(stack, name):
    return stack._replace(frames=stack.frames[:-1] + (stack.frames[-1]._replace(name=name),))


PLANTS = {
    "whole": lambda stack: stack._replace(cut="planted"),
    "roots": lambda stack: stack._replace(frames=stack.frames[3:] or stack.frames[-1:]),
    "leaf": lambda stack: stack._replace(frames=stack.frames[:1]),
    "chains": lambda stack: stack._replace(frames=stack.frames[:-2] + stack.frames[-1:]),
    "unnamed": lambda stack: plant_name(stack, ""),
    "misnamed": lambda stack: plant_name(stack, "planted"),
}


def main():
    bounds, options = dict(BOUNDS), {}
    arguments = iter(sys.argv[1:])
    for argument in arguments:
        if argument.startswith("--"):
            options[argument] = next(arguments)
        else:
            key, _, value = argument.partition("=")
            if key not in bounds:
                sys.exit(f"judge.py: no bound {key}; there are {' '.join(bounds)}")
            bounds[key] = float(value)
    ours = of_pprof(options["--ours"])
    if "--plant" in options:
        ours = planted(options["--plant"], ours)
    sides = []
    for side in "--stacks", "--leaves":
        with open(options[side], errors="replace") as file:
            sides.append(Stacks(of_perf(file)))
    judge = Judge(Stacks(ours), *sides, bounds)
    judge.judge()
    if "--row" in options:
        with open(options["--row"], "w") as file:
            print(" | ".join(judge.row), file=file)
    sys.exit(judge.has_failed)


main()
