# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads pprof profiles and the output of `perf script -F ip,sym,dso` as stacks, for judge.py."""
import collections
import functools
import gzip
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from unwind_binaries import Elf, binary_of  # noqa: E402,F401

KERNEL = 0xFFFF_8000_0000_0000
NO_FILE = "[no file]"  # generated code, the vdso and files that are gone
CUT = "[truncated: "


class Frame(collections.namedtuple("Frame", "path address name")):
    """A place in code, by its address in the file; after a call, the call's last byte. A name of "" is unknown."""


# The user's frames, outermost first; whether the leaf is the kernel's; why the stack is cut, or "".
Stack = collections.namedtuple("Stack", "frames in_kernel cut count")


def fields(data):
    """The fields of a protobuf message: (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        value = varint()
        if key & 7 == 2:
            at += value
            value = data[at - value:at]
        yield key >> 3, value


def numbers(packed):
    value = shift = 0
    for byte in packed:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


@functools.lru_cache(None)
def path_of(path):
    """The path by which all tools' frames of a file are compared."""
    if path.startswith("/") and not path.endswith(".map") and os.path.exists(path):
        return os.path.realpath(path)
    return NO_FILE


def without_inlined(texts, functions, lines):
    """The name of a location, whose lines begin with the innermost inlined call."""
    return texts[functions[lines[-1]]] if lines else ""


def of_pprof(path):
    with gzip.open(path) as file:
        messages = collections.defaultdict(list)
        for number, value in fields(file.read()):
            messages[number].append(value)
    texts = [text.decode(errors="replace") for text in messages[6]]
    files = {0: ""}
    for message in map(dict, map(fields, messages[3])):
        files[message[1]] = texts[message.get(5, 0)]
    functions = {m[1]: m[2] for m in map(dict, map(fields, messages[5]))}
    locations = {}
    for message in messages[4]:
        parts, lines = {}, []
        for number, value in fields(message):
            parts[number] = value
            if number == 4:
                lines.append(dict(fields(value))[1])
        name = without_inlined(texts, functions, lines)
        locations[parts[1]] = files[parts.get(2, 0)], parts.get(3, 0), name
    for sample in messages[2]:
        ids, count = [], 0
        for number, value in fields(sample):
            if number == 1:
                ids += numbers(value) if isinstance(value, bytes) else [value]
            elif number == 2:
                count = count or next(numbers(value))
        yield stack_of([locations[i] for i in ids[::-1]], count)


def stack_of(places, count):
    frames, cut, in_kernel = [], "", False
    for path, address, name in places:
        if name.startswith(CUT):
            cut = name[len(CUT):-1]
        elif path.startswith("[kernel") or name.startswith(("[kernel", "[no stack")):
            in_kernel = True
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
