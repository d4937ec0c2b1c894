#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bpf_stack.py OBJECT: prints the BPF stack of each program, in bytes and with its deepest chain of calls.

The object is compiled with -fstack-size-section. The sum is that of check_max_stack_depth() in kernel/bpf/verifier.c of
Linux 6.1: of each function on the way its bytes, or one if it has none, rounded up to 32. The kernel refuses more than 512.
Newer kernels round less, do not count functions that a configuration never calls, and since 6.13 give some programs a
private stack, so what they accept proves nothing.
"""
import re
import subprocess
import sys

UNIT = 32
CALL, PSEUDO_CALL = 0x85, 1


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def read_sizes(path):
    text = output_of("llvm-readobj", "--stack-sizes", path)
    return {name: int(size, 16) for name, size in re.findall(r"Functions: \[(.*?)\]\s+Size: (\S+)", text)}


def read_functions(path):
    """Names by section and offset."""
    functions = {}
    for line in output_of("llvm-objdump", "-t", path).splitlines():
        match = re.match(r"([0-9a-f]{16}) .{6}F (\S+)\s+[0-9a-f]{16} (?:\.hidden )?(\S+)", line)
        if match:
            functions[match[2], int(match[1], 16)] = match[3]
    return functions


def read_calls(path, functions):
    """The functions that each function calls, or passes to a helper."""
    calls = {name: set() for name in functions.values()}
    section = caller = target = None
    for line in output_of("llvm-objdump", "-d", "-r", path).splitlines():
        relocation = re.match(r"\s+[0-9a-f]+:\s+R_BPF_64_(?:32|64)\s+(\S+)", line)
        if relocation:
            name = relocation[1]
            if name == ".text":
                name = functions[".text", (offset + 1) * 8 if target else offset]
            if name in calls:
                calls[caller].add(name)
            target = None
            continue
        if target:
            calls[caller].add(functions[target])
            target = None
        heading = re.match(r"Disassembly of section (\S+):", line)
        label = re.match(r"([0-9a-f]{16}) <", line)
        instruction = re.match(r"\s*(\d+):\s((?:[0-9a-f]{2}\s){8})", line)
        if heading:
            section = heading[1]
        elif label:
            caller = functions.get((section, int(label[1], 16)), caller)
        elif instruction:
            code = bytes.fromhex(instruction[2])
            offset = int.from_bytes(code[4:], "little", signed=True)
            if code[0] == CALL and code[1] >> 4 == PSEUDO_CALL:
                target = section, (int(instruction[1]) + 1 + offset) * 8
    return calls


def deepest(name, sizes, calls, way=()):
    if name in way:
        sys.exit(f"{name} calls itself")
    below = [deepest(callee, sizes, calls, way + (name,)) for callee in calls[name]]
    size, chain = max(below, default=(0, []))
    own = max(sizes.get(name, 0), 1)
    return size + (own + UNIT - 1) // UNIT * UNIT, [f"{name} {own}"] + chain


def main():
    path = sys.argv[1]
    sizes, functions = read_sizes(path), read_functions(path)
    calls = read_calls(path, functions)
    for (section, _), name in functions.items():
        if section != ".text":
            size, chain = deepest(name, sizes, calls)
            print(size, name, " > ".join(chain))


main()
