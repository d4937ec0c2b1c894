#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""unwind_stacks.py folded|perf COMM [REASONS]: reads the output of `pilotlight record -f folded` or
of `perf script -F comm,ip,sym,dso`. For processes whose whole name matches COMM it prints the number
of samples, of those with a user stack, of those that reach a root, and of user frames. With a third
argument it also prints where most of the other stacks end.

One rule for both tools: a stack reaches a root if, for its outermost frame,
  - its name is that of the first code of a program, of a thread or of a stack of Go's runtime, or
  - its callee is __libc_start_main, whose caller is _start, which many programs do not name, or
  - it is in the dynamic linker, where a program begins before its own _start.
Inlined frames are no frames of the stack and do not count."""
import collections
import re
import sys

ROOT = re.compile(
    r"_start|_dl_start_user|(__)?clone3?|__clone_internal|__(libc_)?v?fork|"
    r"runtime\.(goexit|mstart|rt0_go|mcall|systemstack|morestack|asmcgocall)\b.*|_rt0_amd64.*|gogo")
CALLED_BY_ROOT = re.compile(r"__libc_start_main(_impl)?|__libc_start_main_alias.*")
LINKER = re.compile(r"ld-linux|ld-musl|/ld-[0-9.]+so")
KERNEL = 0xFFFF_8000_0000_0000


def plain(name):
    return re.sub(r"(@.*|\+0x[0-9a-f]+$)", "", name)


def is_root(frames):
    """Whether (name, binary) frames, outermost first, reach a root."""
    name, binary = frames[0]
    if ROOT.fullmatch(plain(name)) or LINKER.search(binary):
        return True
    return len(frames) > 1 and bool(CALLED_BY_ROOT.fullmatch(plain(frames[1][0])))


def of_folded(lines):
    for line in lines:
        stack, count = line.rstrip("\n").rsplit(" ", 1)
        comm, *names = stack.split(";")
        frames = []
        for name in names:
            if name.endswith(("_[k]", "_[i]")) or name == "[kernel]":
                continue
            unnamed = re.fullmatch(r"\[(.*)\+0x[0-9a-f]+\]", name)
            frames.append((name, unnamed[1] if unnamed else ""))
        yield comm, frames, int(count)


def of_perf(lines):
    comm, frames = None, []
    for line in lines:
        if line[:1] not in ("\t", " ", "\n"):
            if comm is not None:
                yield comm, frames[::-1], 1
            comm, frames = line.strip(), []
        elif line.strip():
            ip, rest = line.split(None, 1)
            name, _, binary = rest.rstrip().rpartition(" (")
            if int(ip, 16) < KERNEL:
                frames.append((name, binary.rstrip(")")))
    if comm is not None:
        yield comm, frames[::-1], 1


def main():
    parse = {"folded": of_folded, "perf": of_perf}[sys.argv[1]]
    wanted = re.compile(sys.argv[2])
    samples = with_user = whole = frame_count = 0
    others = collections.Counter()
    sys.stdin.reconfigure(errors="replace")
    for comm, frames, count in parse(sys.stdin):
        if not wanted.fullmatch(comm):
            continue
        samples += count
        if not frames:
            continue
        with_user += count
        frame_count += count * len([f for f in frames if not f[0].startswith("[truncated")])
        if is_root(frames):
            whole += count
        else:
            others[" < ".join(name for name, _ in frames[:2])] += count
    print(samples, with_user, whole, frame_count)
    for where, count in others.most_common(8 if len(sys.argv) > 3 else 0):
        print(f"    {count:6} end in {where}")


if __name__ == "__main__":
    main()
