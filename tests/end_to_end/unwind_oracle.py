# SPDX-License-Identifier: GPL-2.0-or-later
"""unwind_oracle.py SUBJECTS ROWS LLVM-DWARFDUMP: compares unwind tables, which the program ROWS makes
and prints, with the same call frame information from llvm-dwarfdump and readelf. Prints TAP without
the plan.

llvm-dwarfdump prints expressions and separates undefined registers from unmentioned ones, which
readelf does not. But some versions do not restore the CFA with DW_CFA_restore_state, so readelf
decides there. Neither knows stubs that only their code describes; those are counted.

A line of SUBJECTS is a test, its fields separated by tabs: a name, a binary, and optionally its debug
file. Or a name, "skip" and the reason. The rules are compared at the first and the last byte of each
of their rows and of each gap between functions, and at random offsets. All must be equal."""

import bisect
import collections
import multiprocessing
import random
import re
import subprocess
import sys
import time

STOP, CFA, CFA_AT, PLT, SIGNAL, ROOT, UNSUPPORTED = range(7)
KINDS = ("STOP", "CFA", "CFA_AT", "PLT", "SIGNAL", "ROOT", "UNSUPPORTED")
SAME, AT_CFA, AT_FP, UNKNOWN = range(4)
EM_X86_64, EM_AARCH64 = 62, 183
RANDOM_OFFSETS = 20000
SHOWN = 5
JOBS = 2
TELLS_RBX, RBX, RBX_UNKNOWN = 2, 3, 1

X86_64 = {name: number for number, name in enumerate(
    "RAX RDX RCX RBX RSI RDI RBP RSP R8 R9 R10 R11 R12 R13 R14 R15 RIP".split())}
AARCH64 = {f"{letter}{number}": number for number in range(31) for letter in "WX"}
AARCH64 |= {"FP": 29, "LR": 30, "SP": 31, "WSP": 31}

# The last is the offset of the return address, or on x86-64 that of rbx.
Rule = collections.namedtuple("Rule", "kind base offset addend pointer pointer_offset last_offset")
Traits = collections.namedtuple("Traits", "is_signal ra_column")


def simple(kind):
    return Rule(kind, 0, 0, 0, 0, 0, 0)


# --- the output of llvm-dwarfdump -----------------------------------------------------------------

REGISTER = re.compile(r"([A-Z]+\d*)([+-]\d+)?$")
SAVED = re.compile(r"\[CFA([+-]\d+)?\]$")
MEMORY = re.compile(r"DW_OP_breg(\d+) \w+([+-]\d+), DW_OP_deref"
                    r"(?:, DW_OP_plus_uconst (0x[0-9a-f]+)|, DW_OP_lit(\d+), DW_OP_plus)?$")
STUB = re.compile(r"DW_OP_breg7 RSP\+8, DW_OP_breg16 RIP\+0, DW_OP_lit15, DW_OP_and, "
                  r"DW_OP_lit(\d+), DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus$")
POINTER = re.compile(r"\[DW_OP_breg(\d+) \w+([+-]\d+)\]$")
ROW = re.compile(r"  0x([0-9a-f]+): CFA=(.*)$")
RULE_OF_REGISTER = re.compile(r"(?:^|, )([A-Z]+\d*)=(\[[^\]]*\]|[^,\[]+)")
READELF_FDE = re.compile(r"[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)$")
ENTRY_BYTES = 256  # as in unwind_starts.c
STUBS = re.compile(r" \.plt[.a-z]* +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)")
OTHER_SECTION = ("Contents of the ", ".debug_frame contents", ".eh_frame contents")
ENTRY = re.compile(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (CIE|FDE)"
                   r"(?: cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.\.([0-9a-f]+))?")


class Machine:
    """Converts their wording to rules."""

    def __init__(self, number, tells_rbx):
        self.is_x86_64 = number == EM_X86_64
        self.tells_rbx = tells_rbx
        self.registers = X86_64 if self.is_x86_64 else AARCH64
        self.pointer, self.stack, self.ra = (6, 7, 16) if self.is_x86_64 else (29, 31, 30)
        self.known = {}

    def frame(self, text):
        """Kind, base, offset and addend of a CFA, or None."""
        if match := STUB.match(text):
            return PLT, 0, int(match[1]), 0
        if match := MEMORY.match(text):
            return (CFA_AT, int(match[1]), int(match[2]),
                    int(match[3], 16) if match[3] else int(match[4] or 0))
        if (match := REGISTER.match(text)) and match[1] in self.registers:
            return CFA, self.registers[match[1]], int(match[2] or 0), 0
        return None

    def frame_pointer(self, text):
        if text is None or text == "same":
            return SAME, 0
        if match := SAVED.match(text):
            return AT_CFA, int(match[1] or 0)
        match = POINTER.match(text)
        if match and int(match[1]) == self.pointer:
            return AT_FP, int(match[2])
        return UNKNOWN, 0

    def return_address(self, text):
        """Its offset from the CFA, 0 in the link register; None if unknown."""
        if not self.is_x86_64 and text in (None, "same", "LR", "W30", "X30"):
            return 0
        match = SAVED.match(text or "")
        offset = int(match[1] or 0) if match else 0
        if self.is_x86_64:
            return 0 if offset == -8 else None
        return offset or None

    def rbx(self, text):
        if not self.tells_rbx or text is None or text == "same":
            return 0
        match = SAVED.match(text)
        return int(match[1] or 0) if match else RBX_UNKNOWN

    def signal_frame(self):
        """The CFA in the kernel's form."""
        return (CFA_AT, self.stack, 160, 0) if self.is_x86_64 else (CFA, self.pointer, 0, 0)

    def rule(self, *key):
        if key not in self.known:
            self.known[key] = self.make_rule(*key)
        return self.known[key]

    def make_rule(self, text, cfa, traits):
        frame, _, rest = text.partition(": ")
        columns = {self.registers.get(name): value
                   for name, value in RULE_OF_REGISTER.findall(rest)}
        frame = self.frame(cfa or frame)
        if traits.is_signal:
            return simple(SIGNAL if frame == self.signal_frame() else UNSUPPORTED)
        if traits.ra_column != self.ra:
            return simple(UNSUPPORTED)
        if columns.get(self.ra) == "undefined":
            return simple(ROOT)
        ra_offset = self.return_address(columns.get(self.ra))
        if frame is None or ra_offset is None or self.stack in columns:
            return simple(UNSUPPORTED)
        last = self.rbx(columns.get(RBX)) if self.is_x86_64 else ra_offset
        return Rule(*frame, *self.frame_pointer(columns.get(self.pointer)), last)


def output_of(command):
    """The output's lines, without slow sections."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        yield from process.stdout
        # A debug file has no contents for these.
        errors = [line for line in process.stderr if "program interpreter" not in line]
    if errors:
        raise ValueError(f"{command[0]}: {errors[0].strip()}")


def chosen_section(lines, title):
    is_chosen = False
    for line in lines:
        if title in line:
            is_chosen = True
        elif line.startswith(OTHER_SECTION):
            is_chosen = False
        elif is_chosen:
            yield line


def ask_llvm(dwarfdump, section, path):
    """Yields [start, end, Traits of its CIE, rows] of each function."""
    functions, rows, cies, cie = [], None, {}, None
    lines = output_of([dwarfdump, "--" + section, path])
    for line in chosen_section(lines, f".{section.replace('-', '_')} contents"):
        if rows is not None and (match := ROW.match(line)):
            rows.append((int(match[1], 16), match[2]))
        elif match := ENTRY.match(line):
            rows = None
            if match[2] == "CIE":
                cie = int(match[1], 16)
                continue
            rows = []
            functions.append((int(match[4], 16), int(match[5], 16), cies[int(match[3], 16)], rows))
        elif line.startswith("  Augmentation:"):
            is_signal = "S" in line.split('"')[1]
        elif line.startswith("  Return address column:"):
            cies[cie] = Traits(is_signal, int(line.split()[-1]))
    return functions


def ask_readelf(section, path):
    """Yields [start, end, {address: CFA}] of each function."""
    functions, rows = [], None
    lines = output_of(["readelf", "--wide", "--debug-dump=frames-interp",
                       "--debug-dump=no-follow-links", path])
    for line in chosen_section(lines, f"Contents of the .{section.replace('-', '_')} section"):
        if line[0] == "\n":
            rows = None
        elif match := READELF_FDE.match(line):
            rows = {}
            functions.append((int(match[1], 16), int(match[2], 16), rows))
        elif rows is not None and line[0] != " ":
            address, cfa, _ = line.split(" ", 2)
            rows[int(address, 16)] = cfa
    return functions


def readelf_cfa(machine, cfa, row, rows, classes):
    """Converts to llvm-dwarfdump's wording; None if equal."""
    if cfa is None:
        return None
    if cfa in ("exp", "vexp"):
        if row.startswith("DW_OP"):
            return None
        others = {text.partition(": ")[0] for _, text in rows if text.startswith("DW_OP")}
        if len(others) != 1:
            raise ValueError(f"an expression that llvm-dwarfdump does not have: {row}")
        classes["expressions restored, by readelf alone"] += 1
        return others.pop()
    name, sign, offset = re.match(r"(\w+?)([+-])(\d+)$", cfa).groups()
    name = name.upper()
    number = machine.registers[name]
    text = name + (sign + offset if int(offset) else "")
    theirs = machine.frame(row.partition(": ")[0])
    if theirs != (CFA, number, int(sign + offset), 0):
        classes["CFA by readelf, as llvm-dwarfdump does not restore it"] += 1
    return text


def ask(dwarfdump, section, path, machine, classes):
    """[start, end, [(address, rule)]] of each function."""
    functions = ask_llvm(dwarfdump, section, path)
    others = ask_readelf(section, path)
    if [other[:2] for other in others] != [function[:2] for function in functions]:
        raise ValueError(f"readelf and llvm-dwarfdump have other functions in .{section}")
    result = []
    for (start, end, traits, rows), (_, _, frames) in zip(functions, others):
        result.append((start, end, [
            (address, machine.rule(
                text, readelf_cfa(machine, frames.get(address), text, rows, classes), traits))
            for address, text in rows]))
    return result


# --- comparison ------------------------------------------------------------------------

class Table:
    def __init__(self, lines):
        self.segments, self.starts, self.rules = [], [], []
        for line in lines:
            kind, *fields = line.split()
            if kind == "segment":
                self.segments.append(tuple(map(int, fields)))
            elif kind == "summary":
                self.summary = {key: int(value) for key, _, value in
                                (field.partition("=") for field in fields)}
            else:
                offset, *rule = map(int, fields)
                self.starts.append(offset)
                self.rules.append(Rule(*rule))

    def find(self, offset):
        i = bisect.bisect_right(self.starts, offset) - 1
        return self.rules[i] if i >= 0 else simple(STOP)

    def offset(self, vaddr):
        for offset, start, size in self.segments:
            if start <= vaddr < start + size:
                return offset + vaddr - start
        return None


def flatten(table, functions):
    """Their rows by file offset: the function that starts first has the code. A row ends where the next
    one starts."""
    placed = []
    for start, end, rows in functions:
        offset = table.offset(start) if start < end else None
        if offset is not None and rows:
            placed.append((offset, offset + end - start, offset - start, rows))
    placed.sort(key=lambda function: function[0])
    flat, covered = [], None
    for start, end, shift, rows in placed:
        if covered is not None and end <= covered:
            continue
        if covered is not None and covered < start:
            flat.append((covered, simple(STOP)))
        begin = start if covered is None else max(start, covered)
        for i, (vaddr, rule) in enumerate(rows):
            row_end = rows[i + 1][0] + shift if i + 1 < len(rows) else end
            row_start = max(vaddr + shift, begin)
            if row_start < min(row_end, end):
                flat.append((row_start, rule))
        covered = end
    if covered is not None:
        flat.append((covered, simple(STOP)))
    return flat


def stub_sections(path):
    """[start, end) in the file of procedure linkage tables."""
    lines = output_of(["readelf", "--wide", "--section-headers", path])
    return [(int(match[1], 16), int(match[1], 16) + int(match[2], 16))
            for match in map(STUBS.search, lines) if match]


def entry_code(path):
    """[start, end) in the file of the entry's code, which is a root; at most ENTRY_BYTES."""
    head = "\n".join(output_of(["readelf", "--wide", "--file-header", "--segments", path]))
    entry = int(re.search(r"Entry point address: +0x([0-9a-f]+)", head)[1], 16)
    for offset, vaddr, size in re.findall(
            r" LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+ 0x([0-9a-f]+) ", head):
        start = entry - int(vaddr, 16)
        if entry and 0 <= start < int(size, 16):
            return int(offset, 16) + start, int(offset, 16) + start + ENTRY_BYTES
    return 0, 0


def compare(table, theirs, stubs, entry, classes):
    """The differing offsets, and the number of compared ones."""
    starts = [offset for offset, _ in theirs]
    chosen = random.Random(1)
    offsets = set(starts)
    offsets.update(start - 1 for start in starts)
    offsets.update(table.starts)
    offsets.update(chosen.randrange(starts[0], starts[-1] + 1) for _ in range(RANDOM_OFFSETS))
    different = []
    for offset in sorted(offsets):
        i = bisect.bisect_right(starts, offset) - 1
        expected = theirs[i][1] if i >= 0 else simple(STOP)
        ours = table.find(offset)
        if expected == simple(STOP) != ours and any(a <= offset < b for a, b in stubs):
            classes["stubs that no call frame information tells of"] += 1
        elif expected == simple(STOP) and ours == simple(ROOT) and entry[0] <= offset < entry[1]:
            classes["places behind the entry, where no call frame information tells of the root"] += 1
        elif ours != expected:
            different.append((offset, ours, expected))
    return different, len(offsets)


def examine(path, debug, tools):
    began = time.monotonic()
    command = [tools[0], path] + ([debug] if debug else [])
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        raise ValueError(process.stderr.strip())
    table = Table(process.stdout.splitlines())
    machine = Machine(table.summary["machine"], table.summary["flags"] & TELLS_RBX)
    classes = collections.Counter()
    functions = ask(tools[1], "eh-frame", path, machine, classes)
    functions += ask(tools[1], "debug-frame", debug or path, machine, classes)
    theirs = flatten(table, functions)
    different, asked = compare(table, theirs, stub_sections(path), entry_code(path), classes)
    summary = table.summary
    kinds = collections.Counter(KINDS[rule.kind] for _, rule in theirs)
    unknown = sum(rule.pointer == UNKNOWN for _, rule in theirs)
    others = sum(rule.kind in (CFA, CFA_AT) and rule.base not in (machine.pointer, machine.stack)
                 for _, rule in theirs)
    notes = [
        "    " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) +
        f"; {others} by another register, {unknown} without a frame pointer",
        f"    {summary['functions']} functions, {summary['failed']} failed, {summary['rows']} rows,"
        f" {summary['rules']} rules, {summary['escapes']} escapes, {summary['bytes']} bytes, "
        f"{summary['bytes'] / max(summary['rows'], 1):.2f} a row, {summary['cpu_us'] / 1000:.1f} ms"
        f" of CPU, flags {summary['flags']}; {time.monotonic() - began:.1f} s in all"]
    notes += [f"    {count} x {name}" for name, count in classes.most_common()]
    notes += [f"    at {offset:#x}: ours {ours}, theirs {expected}"
              for offset, ours, expected in different[:SHOWN]]
    return different, f"{asked - len(different)} of {asked} offsets are equal", notes


def examine_safely(subject):
    name, path, *rest = subject
    if path == "skip":
        return "ok", f"{name} # SKIP {rest[0]}", []
    try:
        different, text, notes = examine(path, rest[0] if rest else None, sys.argv[2:])
    except (ValueError, KeyError, OSError, IndexError) as error:
        return "not ok", f"{name}: cannot be compared: {error}", []
    return "not ok" if different else "ok", f"{name}: {text}", notes


def main(list_path):
    with open(list_path, encoding="utf-8") as file:
        subjects = [line.rstrip("\n").split("\t") for line in file]
    failures = 0
    with multiprocessing.Pool(JOBS) as pool:
        results = pool.imap(examine_safely, subjects)
        for number, (verdict, text, notes) in enumerate(results, 1):
            failures += verdict != "ok"
            print(f"{verdict} {number} - {text}")
            for note in notes:
                print("#" + note)
    print(f"1..{len(subjects)}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
