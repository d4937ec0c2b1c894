# SPDX-License-Identifier: GPL-2.0-or-later
"""unwind_chains.py list|count SET FOLDER
unwind_chains.py wrong SET FOLDER FOLDED
unwind_chains.py check SET FOLDER FOLDED [AGAIN]

The expected call chains of tests/workloads/chains, in sets. `list` prints PROGRAM CASE COMM of each
case whose program is in FOLDER; `count` prints the number of lines of `check`. `check` compares the
stacks of a folded file with the chains and prints, separated by tabs, ok, not ok or skip, the name of
the test, and notes. `wrong` prints the failed cases like `list`. They are recorded again with more
samples, because 99.9 % of a few hundred samples are all of them; AGAIN is that recording and decides.

Every sample with a case's comm counts. It is right if its user frames are a chain of the case, or one
that ends early in a function that is about to call the next. At least 99.9 % must be right, and each
chain must have its minimum percentage.

A # in a comm stands for a letter, from a on, for the phase of the case. Such a case has a new file in
each run. The time until the sampler knows the file depends on the machine's load. So stacks may end
in that file during the first phases, but in no others."""

import collections
import os
import re
import string
import sys

DEPTH = 256
WRONG_PER_MILLE = 1
SAMPLES = 100
SHOWN = 4
STRETCHES = 1

# musl's is /lib/libc.so or so.
UNNAMED_LIBC = r"\[(libc\.so\.6|libc\.so|ld-musl-x86_64\.so\.1)\+0x[0-9a-f]+\]"
LIBC_START = rf"_*libc_start_\w+|{UNNAMED_LIBC}"
ROOTS = (["_start", LIBC_START, LIBC_START, "main"], ["_start", LIBC_START, "main"])
THREAD_ROOTS = (["clone3?|__clone3?", rf"start_thread|{UNNAMED_LIBC}"],)
SIGNAL_FRAME = rf"__restore_rt|{UNNAMED_LIBC}"
CONTEXT_BASE = rf"__start_context|{UNNAMED_LIBC}"
ANY = "[^;]+"
OTHERS = [ANY] * 40
CLOCK = ["goes_on", ".*clock_gettime.*", ANY, ANY]
PHASE = ["goes_on", "set_phase", "set_name"]
LEAF = ["leaf"]
# The first entry of a procedure linkage table, through which functions are bound.
BINDING = r"\.plt"
RESOLVE = r"_dl_runtime_resolve\w*"
# Linked with lazy binding, so each process binds a library's function at its first call.
LAZY = {"places"}


class Chain:
    """`frames` are patterns, from below the root on; `least` is in percent of the samples, of stacks
    that have all of them, or as many as are `enough`."""

    def __init__(self, frames, least=0, roots=ROOTS, enough=None):
        self.least = least
        self.spare = len(frames) - (enough or len(frames))
        self.wholes = [[re.compile(frame) for frame in root + frames] for root in roots]

    def holds(self, stack):
        """None if the stack is no part of the chain; otherwise whether it is enough of it."""
        for whole in self.wholes:
            if stack[0] == "[truncated: depth]":
                if self.holds_truncated(stack[1:], whole):
                    return True
            elif len(stack) <= len(whole) and all(
                    pattern.fullmatch(frame) for pattern, frame in zip(whole, stack)):
                return len(stack) >= len(whole) - self.spare
        return None

    @staticmethod
    def holds_truncated(stack, whole):
        return len(stack) == DEPTH and any(
            all(pattern.fullmatch(frame) for pattern, frame in zip(whole[end - DEPTH:end], stack))
            for end in range(DEPTH + 1, len(whole) + 1))


# Samples whose chain cannot be known: the maximum percentage, the reason, and a pattern.
Untold = collections.namedtuple("Untold", "most why pattern")
Case = collections.namedtuple("Case", "program name comm chains untold")


def bound(frames):
    """The chains of the first call from `frames` into another file."""
    return [Chain(frames + [BINDING]), Chain(frames + [RESOLVE] + OTHERS[:10])]


def calls(frames, *functions):
    """The chains of a call from `frames` into the C library: in the function or its PLT entry."""
    names = "|".join(rf"(__GI_)?_*(libc_|new_)?{function}\w*(@plt)?" for function in functions)
    return Chain(frames + [names] + OTHERS[:8])


def case(programs, name, *chains, untold=(), has_phases=False):
    """`chains` are of the case's own function; its calls for the time are added."""
    for program in programs.split():
        variant = program.partition("-")[2]
        comm = f"{variant[:1]}-{name}" if variant else name
        comm = comm[:14] + "#" if has_phases else comm[:15]
        entry = [Chain([name] + CLOCK), Chain([name, "must"]), Chain(["set_name"] + OTHERS)]
        if program in LAZY:
            entry += bound([name]) + bound([name, "goes_on"])
        yield Case(program, name, comm, entry + list(chains), untold)


def whole(least, name, *frames):
    return Chain([name] + list(frames) + LEAF, least)


def descents(count):
    return ["descend_" + "abc"[i % 3] for i in range(count)]


# Its unwind rules are those of its jump target, in caller-saved registers.
JUMPING = "longjmp() on its way", r"\[truncated: unsupported rule\];_*longjmp"


def frame_cases(programs="frames frames-O3 frames-clang"):
    yield from case(programs, "deep_200", whole(80, "deep_200", *descents(200)))
    yield from case(programs, "deep_900", whole(80, "deep_900", *descents(900)),
                    Chain(["deep_900"] + descents(900)))
    yield from case(programs, "deep_1200", whole(80, "deep_1200", *descents(1200)),
                    Chain(["deep_1200"] + descents(1200)))
    yield from case(programs, "tail_calls", whole(80, "tail_calls", "tail_third"),
                    Chain(["tail_calls", "tail_first|tail_second"]))
    yield from case(programs, "jumps",
                    whole(80, "jumps", "set_jump", "jump_over_this", "jump_from_here"),
                    Chain(["jumps", "set_jump"] + OTHERS), untold=[Untold(1, *JUMPING)])
    yield from case(programs, "no_return",
                    whole(80, "no_return", "ends_in_a_call", "does_not_return"),
                    Chain(["no_return", r"_?_?(sig)?setjmp.*|.*jmp.*"]),
                    Chain(["no_return", "ends_in_a_call", "does_not_return", ".*longjmp.*"] +
                          OTHERS[:3]),
                    untold=[Untold(1, *JUMPING)])
    yield from case(programs, "late_sizes",
                    whole(80, "late_sizes", "with_alloca", "with_array"),
                    Chain(["late_sizes", "with_alloca", "memset.*|__memset.*"]))
    yield from case(programs, "large_frames",
                    whole(40, "large_frames", *["large_frame"] * 4))
    yield from case(programs, "probed", Chain(["probed", "probed_frame"], 5))
    yield from case(programs, "alignment",
                    whole(80, "alignment", "realigned", "vector_locals", "aligned_locals"))
    yield from case(programs, "shrink_wrapping", Chain(["shrink_wrapping", "shrunk"], 20),
                    Chain(["shrink_wrapping", "shrunk", "tiny"], 5))


# clone3() has no call frame information after it has returned in two threads.
CLONE = "clone3() in its parent", r"\[truncated: no unwind rule\];(clone3?|__clone3?)"


# It sets the new stack pointer before it pushes the new return address, without unwind information.
SWITCHING = "swapcontext() between two stacks", r"\[truncated: [^;]+\];(__)?swapcontext"


def stack_cases():
    for name in "signals", "signal_stack":
        alarms = [name, "handle_alarms"]
        below = alarms + ["interrupted"]
        handler = [SIGNAL_FRAME, "handler", "leaf"]
        # The timer may expire before anything else begins, and again before it is stopped.
        timer = alarms + [r"(__GI_)?_*setitimer(@plt)?"]
        yield from case("stacks", name, Chain(below + ["interrupted_work"], 5),
                        Chain(below + CLOCK), Chain(below + handler),
                        Chain(below + ["interrupted_work"] + handler, 5),
                        *(Chain(below + CLOCK[:count] + handler) for count in range(1, 5)),
                        Chain(timer + handler), Chain(timer[:-1] + handler),
                        Chain(alarms + ["must"] + handler),
                        calls(alarms, "setitimer", "sigaction"), calls([name], "sigaltstack"))
    yield from case("stacks", "signal_fault",
                    Chain(["signal_fault", "faulting", SIGNAL_FRAME, "fault_handler", "leaf"], 50),
                    calls(["signal_fault"], "sigaction"))
    # The frame pointer holds other data where the coroutine begins; no other frames may follow.
    roots = {"stacks": [[CONTEXT_BASE]],
             "stacks-frame": [[CONTEXT_BASE], [r"\[truncated: no unwind rule\]", CONTEXT_BASE]]}
    for program in roots:
        swap = r"_*swapcontext(@plt)?"
        yield from case(program, "contexts",
                        Chain(["context_body", "context_inner", "leaf"], 80, roots[program]),
                        Chain(["context_body", swap], 0, roots[program]),
                        Chain(["contexts", swap]), calls(["contexts"], "getcontext", "makecontext"),
                        untold=[Untold(1, *SWITCHING)])
    yield from case("stacks", "switched_base",
                    Chain(["switched_body", "switched_inner", "leaf"], 80, [["coroutine_base"]]),
                    Chain(["switched_body", "switch_stacks"], 0, [["coroutine_base"]]),
                    Chain(["switched_base", "switch_between"] + CLOCK),
                    Chain(["switched_base", "switch_between", "switch_stacks"]))
    yield from case("stacks", "switched_zero",
                    Chain(["switched_inner", "leaf"], 80, [["switched_body"]]),
                    Chain(["switch_stacks"], 0, [["switched_body"]]),
                    Chain(["switched_zero", "switch_between"] + CLOCK),
                    Chain(["switched_zero", "switch_between", "switch_stacks"]))
    yield from case("stacks", "threads",
                    Chain(["thread_body", "leaf"], 80, THREAD_ROOTS),
                    Chain(["thread_body"] + CLOCK, 0, THREAD_ROOTS),
                    Chain([ANY] * 3, 0, THREAD_ROOTS), Chain(["threads"] + OTHERS),
                    untold=[Untold(1, *CLONE), Untold(1, "a thread at its end", "")])


# Code of crti.o and crtbegin.o, which has no call frame information.
START_UP = (
    "start-up code without rules",
    r"\[truncated: no unwind (rule|table)\];"
    r"(_init|_fini|frame_dummy|(de)?register_tm_clones|__do_global_dtors_aux)")


# Parent and child share the page of their stack until one writes to it. Then the page is unmapped from the
# kernel's removal (do_wp_page) until the copy replaces it.
COPYING = (
    "fork() whose stack is being copied",
    rf"\[truncated: stack unreadable\];(_*[fF]ork|{UNNAMED_LIBC})")


# Each run's memory is a new, unknown file; see has_phases.
NEW_FILE = "a file that is new", r"\[truncated: no unwind table\];.*"


def place_cases():
    yield from case("places", "libraries",
                    whole(20, "libraries", "use_library", "library_a"),
                    whole(20, "libraries", "use_library", "library_b"),
                    Chain(["libraries", "use_library"] + OTHERS),
                    untold=[Untold(1, *START_UP)])
    yield from case("places", "plt_hot", Chain(["plt_hot", "tiny_of_library@plt"], 5),
                    Chain(["plt_hot", "tiny_of_library"]))
    resolve = ["plt_lazy", "bind_all", "call_all", RESOLVE]
    yield from case("places", "plt_lazy", Chain(resolve, 5),
                    Chain(resolve + ["_dl_fixup"] + OTHERS, 1, enough=len(resolve) + 1),
                    Chain(["plt_lazy", "bind_all", "call_all", f"lazy_.*|{BINDING}"]),
                    Chain(["plt_lazy", "bind_all", "_*dl.*|find_function|open_library"] + OTHERS),
                    Chain(["plt_lazy", "bind_all", "must"]), *bound(["plt_lazy", "bind_all"]),
                    untold=[Untold(15, *START_UP)])
    yield from case("places", "vdso", Chain(["vdso", "clock_gettime.*", ANY], 50))
    yield from case("places", "system_calls",
                    Chain(["system_calls", "read|__read|__GI___read.*"], 80),
                    Chain(["system_calls", ANY]))
    yield from case("places", "page_faults", Chain(["page_faults", "touch"], 40),
                    Chain(["page_faults", ANY, ANY]))
    # A process that has released its memory at exit has no user stack.
    yield from case("places", "forks", Chain(["forks", "child", "leaf"], 80),
                    calls(["forks", "child"], "clock_gettime"), *bound(["forks", "child"]),
                    Chain(["forks"] + OTHERS[:8]),
                    untold=[Untold(2, "a process at its end", ""), Untold(1, *COPYING)])
    for name in "generated", "generated_memfd", "generated_shared":
        code = r"\[jit: unknown\](_\[j\])?"
        run = [name, "run_generated"]
        yield from case("places", name,
                        whole(80, *run, code, "called_back"),
                        Chain(run + CLOCK), Chain(run + PHASE + OTHERS[:8]), Chain(run + ["must"]),
                        calls(run, "mmap", "munmap", "memcpy"), *bound(run),
                        *bound(run + ["goes_on"]), Chain([name, ANY]),
                        untold=[Untold(0, *NEW_FILE)], has_phases=True)


def plain_cases():
    nested = ["nested", "nested_1", "nested_2", "nested_3"]
    for program in "nested-clang", "nested-fixed", "nested-static", "nested-loose":
        yield from case(program, "nested", whole(80, *nested))
    yield from case("huge", "huge_text",
                    whole(80, "huge_text", "in_the_middle", "first_of_all"))
    yield from case("assembler", "expressions",
                    whole(30, "expressions", "kept_on_stack", "below_assembler"),
                    Chain(["expressions", "kept_on_stack"], 5))
    # Without call frame information; its frame pointer is 0, but it is not the first function of a
    # thread.
    yield from case("assembler", "lone", Chain(["lone", "without_rules"], 80))
    # The first function returns into code that has no call frame information either.
    base = [["fiber_start"]]
    yield from case("assembler", "fiber", Chain(["fiber_body"] + LEAF, 80, base),
                    Chain(["fiber_body"] + CLOCK, 0, base))


# _Unwind_Resume() and similar functions overwrite their own return addresses with those of the frames
# where execution continues. Meanwhile they seem to have other callers.
RESUMING = (
    "libgcc overwriting its own return address",
    r".*_Unwind_(Resume|RaiseException)(;[^;]+)?")


def throw_cases():
    exceptions = r"exceptions\(\)( \[clone \.cold\])?"
    through = r"through\(unsigned int\)( \[clone \.cold\])?"
    just_throw = r"just_throw\(unsigned int\)( \[clone \.cold\])?"
    thrower = r"thrower\(\)"
    runtime = [r"(?!exceptions|through|just_throw|thrower|main)[^;]+"] * 20
    yield from case(
        "throws", "exceptions",
        Chain([exceptions] + [through] * 20 + [thrower, "leaf"], 10),
        Chain([exceptions] + [just_throw] * 20 + ["__cxa_throw", "_Unwind_RaiseException", ANY], 2),
        Chain([exceptions] + [through] * 20 + [thrower] + runtime),
        *(Chain([exceptions] + [through] * count + runtime) for count in range(21)),
        *(Chain([exceptions] + [just_throw] * count + runtime) for count in range(1, 21)),
        untold=[Untold(3, *RESUMING)])


def mapping_cases():
    yield from case("places", "churned", whole(80, "churned", "beside_churn"),
                    Chain(["churned"] + OTHERS), Chain([ANY] * 3, 0, THREAD_ROOTS),
                    untold=[Untold(1, *CLONE)])
    yield from case("places", "thousand", whole(30, "thousand", "in_last_copy", "library_a"),
                    Chain(["thousand", r"open_copies.*"] + OTHERS),
                    untold=[Untold(3, *START_UP)])


# Programs without call frame information, and musl, which has none either.
def inferred_cases():
    yield from frame_cases("frames-bare frames-pointed frames-musl frames-static")
    nested = ["nested", "nested_1", "nested_2", "nested_3"]
    for program in "nested-bare", "nested-musl":
        yield from case(program, "nested", whole(80, *nested))


SETS = {
    "chains": lambda: [*frame_cases(), *stack_cases(), *place_cases(), *plain_cases(),
                       *throw_cases()],
    "inferred": lambda: [*inferred_cases()],
    "mappings": lambda: [*mapping_cases()],
}


# --- a folded file -----------------------------------------------------------------------------

def read_stacks(path):
    """Counts of user stacks by comm."""
    stacks = collections.defaultdict(collections.Counter)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            comm, *frames = stack.split(";")
            user = [frame for frame in frames if not frame.endswith("_[k]")]
            stacks[comm][tuple(user)] += int(count)
    return stacks


def shorten(frames):
    text = []
    for frame in frames:
        if text and text[-1][0] == frame:
            text[-1][1] += 1
        else:
            text.append([frame, 1])
    text = [name if count == 1 else f"{name} x {count}" for name, count in text]
    if len(text) > 16:
        text[8:-8] = ["..."]
    return ";".join(text) or "(no user stack)"


def sort_stacks(which, stacks):
    """The numbers of samples of each chain and of unknown chains, and the wrong stacks."""
    shares = collections.Counter()
    wrong = collections.Counter()
    untold = collections.Counter()
    for frames, count in stacks.items():
        found = [chain.holds(frames) if frames else None for chain in which.chains]
        for i, is_all in enumerate(found):
            shares[i] += count if is_all else 0
        if all(is_all is None for is_all in found):
            for i, class_ in enumerate(which.untold):
                if re.fullmatch(class_.pattern, ";".join(frames)):
                    untold[i] += count
                    break
            else:
                wrong[frames] += count
    return shares, untold, wrong


def check_case(which, stacks):
    """The verdict and notes."""
    shares, untold, wrong = sort_stacks(which, stacks)
    total = sum(stacks.values())
    notes = [f"{sum(wrong.values())} of {total} wrong"]
    is_right = total >= SAMPLES and sum(wrong.values()) * 1000 <= WRONG_PER_MILLE * total
    for i, chain in enumerate(which.chains):
        if shares[i] * 100 < chain.least * total:
            is_right = False
            notes.append(f"chain {i} has {shares[i]} of {total}, less than {chain.least} %: "
                         f"{';'.join(pattern.pattern for pattern in chain.wholes[0][-6:])}")
    for i, class_ in enumerate(which.untold):
        if untold[i]:
            notes.append(f"{untold[i]} of {class_.why}")
        if untold[i] * 100 > class_.most * total:
            is_right = False
            notes.append(f"which is more than {class_.most} %")
    notes += [f"{count}: {shorten(frames)}" for frames, count in wrong.most_common(SHOWN)]
    return is_right, notes


def check_phases(which, stacks):
    """Phases with an unknown file may form a stretch; all others are checked together."""
    known, new = collections.Counter(), collections.Counter()
    stretches, was_new = 0, False
    for letter in string.ascii_lowercase:
        phase = stacks[which.comm[:-1] + letter]
        is_new = sum(sort_stacks(which, phase)[1].values()) > 0
        (new if is_new else known).update(phase)
        stretches += is_new and not was_new
        was_new = is_new
    _, untold, wrong = sort_stacks(which, new)
    is_right, notes = check_case(which, known)
    notes.append(f"{sum(untold.values())} of {sum(new.values())} of {NEW_FILE[0]}, and "
                 f"{sum(wrong.values())} wrong, in {stretches} stretches")
    notes += [f"{count}: {shorten(frames)}" for frames, count in wrong.most_common(SHOWN)]
    return is_right and not wrong and stretches <= STRETCHES, notes


def check_stacks(which, stacks):
    is_phased = which.comm.endswith("#")
    is_right, notes = check_phases(which, stacks) if is_phased else check_case(
        which, stacks[which.comm])
    return "ok" if is_right else "not ok", notes


def check_names(stacks):
    """Names of return addresses at a function's start: the kernel's, and none."""
    frames = collections.Counter()
    for comm in "signal_stack", "contexts":
        for stack, count in stacks[comm].items():
            for frame in stack:
                frames[frame] += count
    if not frames["__libc_start_call_main"]:
        return "skip", ["libc's own functions have no names here"]
    notes = [f"{frames[name]} {name}" for name in ("__restore_rt", "__start_context")]
    is_right = frames["__restore_rt"] and frames["__start_context"] and not any(
        re.fullmatch(UNNAMED_LIBC, frame) for frame in frames)
    return "ok" if is_right else "not ok", notes


def main():
    action, name, folder = sys.argv[1:4]
    cases = SETS[name]()
    if action == "list":
        for which in cases:
            if os.path.exists(os.path.join(folder, which.program)):
                print(which.program, which.name, which.comm)
        return
    if action == "count":
        print(len(cases) + (name == "chains"))
        return
    stacks, *again = map(read_stacks, sys.argv[4:])
    for which in cases:
        title = f"{which.name}, {which.program}"
        if os.path.exists(os.path.join(folder, which.program)):
            verdict, notes = check_stacks(which, stacks)
        else:
            verdict, notes = "skip", [f"{which.program} was not built"]
        if action == "wrong":
            if verdict == "not ok":
                print(which.program, which.name, which.comm)
            continue
        if verdict == "not ok" and again:
            verdict, more = check_stacks(which, again[0])
            notes += ["once more:", *more]
        print(verdict, title, *notes, sep="\t")
    if action == "wrong":
        return
    if name == "chains":
        verdict, notes = check_names(stacks)
        print(verdict, "bases of signals and coroutines have names", *notes, sep="\t")


main()
