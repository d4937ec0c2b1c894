# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads pprof profiles and the output of `perf script -F ip,sym,dso` as stacks, for judge.py."""
import collections
import functools
import os
import sys

for folder in "bench", "harness":
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
from check_chains import Profile  # noqa: E402
from unwind_binaries import Elf, binary_of  # noqa: E402,F401

KERNEL = 0xFFFF_8000_0000_0000
NO_FILE = "[no file]"  # generated code, the vdso and files that are gone
CUT = "[truncated: "


class Frame(collections.namedtuple("Frame", "path address name")):
    """A place in code, by its address in the file; after a call, the call's last byte. A name of "" is unknown."""


# The user's frames, outermost first; whether the leaf is the kernel's; why the stack is cut, or "".
Stack = collections.namedtuple("Stack", "frames in_kernel cut count")


@functools.lru_cache(None)
def path_of(path):
    """The path by which all tools' frames of a file are compared."""
    if path.startswith("/") and not path.endswith(".map") and os.path.exists(path):
        return os.path.realpath(path)
    return NO_FILE


def of_pprof(path):
    """Yields stacks. The names are those of functions; inlined calls are left out."""
    for _, count, frames in Profile.read(path).samples:
        yield stack_of(frames[::-1], count)


def stack_of(places, count):
    frames, cut, in_kernel = [], "", False
    for path, address, name in places:
        if name.startswith(CUT):
            cut = name[len(CUT):-1]
        elif in_kernel or path.startswith("[kernel") or name.startswith(("[kernel", "[no stack")):
            in_kernel = True  # and all frames within, as those of modules and BPF programs
        elif name.startswith(("[lost", "[names over quota]")):
            return Stack((), False, "", 0)
        else:
            file = path_of(path)
            frames.append(Frame(file, 0 if file == NO_FILE else address, name_of(name)))
    return Stack(tuple(frames), in_kernel, cut, count)


def name_of(name):
    return "" if name == "[unknown]" or name.startswith("[") and "+0x" in name else name


def of_perf(lines):
    """Yields stacks. perf names a file's offset instead of an address."""
    @functools.lru_cache(None)
    def of_line(line):
        address, rest = line.split(None, 1)
        name, _, path = rest.rstrip().rpartition(" (")
        address = int(address, 16)
        if address >= KERNEL:
            return None
        path = path_of(path[:-1])
        binary = binary_of(path) if path != NO_FILE else None
        address = binary.to_address(address) if binary else 0
        return Frame(path, address or 0, name_of(name))

    frames, in_kernel, has_any = [], False, False
    for line in lines:
        if line.strip():
            frame = of_line(line)
            has_any = True
            if frame:
                frames.append(frame)
            else:
                in_kernel = True
        elif has_any:
            yield Stack(tuple(frames[::-1]), in_kernel, "", 1)
            frames, in_kernel, has_any = [], False, False
    if has_any:
        yield Stack(tuple(frames[::-1]), in_kernel, "", 1)
