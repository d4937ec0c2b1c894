#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check_chains.py [--comm REGEX] [--except REGEX] [--most PER_MILLE] [--shown N] PROFILE.pb.gz

Checks the call chains of a profile that `pilotlight record -o FILE.pb.gz` wrote, by reading the code
with objdump. A caller is explained if
  - a call instruction ends at its return address, and
  - if that is a direct call: it leads to the function of the next frame, or that function is reached
    from there by jumps (PLT stubs, tail calls, cold parts).
An indirect call may lead anywhere. Function starts are those of the symbols, of .eh_frame_hdr and of
the calls themselves. Not checked: callers in the kernel, in generated code and in files that cannot
be read; what a signal interrupted; the first function of a coroutine.

Prints `chains N, unexplained M`, `pairs ...`, and examples with the number of their samples. Fails if
more than PER_MILLE (0) of the chains have an unexplained caller. --except leaves out callers whose
"CALLER -> CALLEE" matches."""
import argparse
import bisect
import collections
import gzip
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from protobuf import fields, numbers

CODE_MAX = 1 << 16   # of a function
JUMPS_MAX = 2        # from the called function to the one of the next frame
LONGEST_CALL = 8
ADDRESS_MASK = (1 << 64) - 1
PADDING = b"\x90" * 16
SIGRETURN = bytes.fromhex("48c7c00f0000000f05")  # mov $15, %rax; syscall
SIGRETURN_CALL = 7

Frame = collections.namedtuple("Frame", "path address name")
Instruction = collections.namedtuple("Instruction", "start end text")


# --- the profile ---------------------------------------------------------------------------------

class Profile:
    """`samples` are (comm, count, frames), frames leaf first."""

    def __init__(self, data):
        strings, functions, mappings, locations, samples = [], {}, {}, {}, []
        for number, value in fields(data):
            if number == 6:
                strings.append(value.decode(errors="replace"))
            elif number == 5:
                function = dict(fields(value))
                functions[function[1]] = function.get(2, 0)
            elif number == 3:
                mapping = dict(fields(value))
                mappings[mapping[1]] = mapping.get(5, 0), mapping.get(3, 0)
            elif number == 4:
                location = list(fields(value))
                lines = [dict(fields(line)) for key, line in location if key == 4]
                location = dict(location)
                # The last line is the function that the others are inlined into.
                locations[location[1]] = (location.get(2, 0), location.get(3, 0),
                                          lines[-1].get(1, 0) if lines else 0)
            elif number == 2:
                samples.append(value)
        # A file without a range of code is an interpreter, of what it runs.
        paths = {at: "" if limit == 0 and strings[path].startswith("/") else strings[path]
                 for at, (path, limit) in mappings.items()}
        frames = {at: Frame(paths.get(mapping, ""), address, strings[functions.get(function, 0)])
                  for at, (mapping, address, function) in locations.items()}
        self.samples = [self.sample(value, frames, strings) for value in samples]

    @staticmethod
    def sample(value, frames, strings):
        ids, count, comm = [], 0, ""
        for number, part in fields(value):
            if number == 1:
                ids += numbers(part)
            elif number == 2:
                count = count or numbers(part)[0]
            elif number == 3:
                label = dict(fields(part))
                if strings[label.get(1, 0)] in ("comm", "thread"):
                    comm = comm or strings[label.get(2, 0)]
        return comm, count, [frames[at] for at in ids]

    @staticmethod
    def read(path):
        with open(path, "rb") as file:
            data = file.read()
        return Profile(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


# --- code ----------------------------------------------------------------------------------------

class Binary:
    """The code of a file, and where functions start."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no 64-bit ELF file")
        self.decoded = {}
        self.segments, frame_header = [], None
        at, size, count = struct.unpack_from("<Q", self.data, 32)[0], *struct.unpack_from(
            "<HH", self.data, 54)
        for i in range(count):
            kind, flags, offset, address, _, bytes_, _, _ = struct.unpack_from(
                "<IIQQQQQQ", self.data, at + i * size)
            if kind == 1:
                self.segments.append((address, bytes_, offset, flags & 1))
            elif kind == 0x6474E550:
                frame_header = offset, address
        starts = set(self.symbols())
        if frame_header:
            starts.update(self.frame_starts(*frame_header))
        self.starts = sorted(start for start in starts if self.read(start, 1))

    def symbols(self):
        at, size, count = struct.unpack_from("<Q", self.data, 40)[0], *struct.unpack_from(
            "<HH", self.data, 58)
        for i in range(count if at else 0):
            kind, = struct.unpack_from("<I", self.data, at + i * size + 4)
            offset, bytes_ = struct.unpack_from("<QQ", self.data, at + i * size + 24)
            if kind not in (2, 11):
                continue
            for place in range(offset, offset + bytes_, 24):
                _, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.data, place)
                if info & 15 in (2, 10) and section:
                    yield value

    def frame_starts(self, offset, address):
        """The table of .eh_frame_hdr in its usual form."""
        if self.data[offset:offset + 4] != b"\x01\x1b\x03\x3b":
            return
        count, = struct.unpack_from("<I", self.data, offset + 8)
        for i in range(count):
            yield address + struct.unpack_from("<i", self.data, offset + 12 + 8 * i)[0]

    def read(self, address, size):
        for start, bytes_, offset, is_code in self.segments:
            if is_code and start <= address < start + bytes_:
                return self.data[offset + address - start:
                                 offset + min(bytes_, address - start + size)]
        return b""

    def returns_from_signal(self, address):
        """Is the address that of rt_sigreturn's caller: of its first instruction, as a handler
        returns to it, of its second, or, in the call itself, of the byte before the return?"""
        return any(self.read(address - before, len(SIGRETURN)) == SIGRETURN
                   for before in (0, SIGRETURN_CALL, len(SIGRETURN) - 1))

    def start_of(self, address):
        at = bisect.bisect_right(self.starts, address)
        return self.starts[at - 1] if at else None

    def end_of(self, address):
        at = bisect.bisect_right(self.starts, address)
        end = self.starts[at] if at < len(self.starts) else address + CODE_MAX
        return min(end, address + CODE_MAX)

    def is_in_function_at(self, target, address):
        start = self.start_of(address)
        return start == self.start_of(target) or (
            target <= address and (start is None or start <= target))

    def decode(self, ranges):
        """Has objdump read the code of (start, end) ranges, for instructions()."""
        ranges = [span for span in set(ranges) if span not in self.decoded]
        code, places = b"", []
        for start, end in ranges:
            places.append(len(code))
            code += self.read(start, end - start) + PADDING
            self.decoded[start, end] = []
        if not code:
            return
        with tempfile.NamedTemporaryFile() as file:
            file.write(code)
            file.flush()
            text = subprocess.run(
                ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-w", "--no-show-raw-insn",
                 file.name], check=True, capture_output=True, text=True).stdout
        lines = re.findall(r"^ *([0-9a-f]+):\t(.*)$", text, re.M)
        for i, (place, instruction) in enumerate(lines):
            place = int(place, 16)
            end = int(lines[i + 1][0], 16) if i + 1 < len(lines) else len(code)
            at = bisect.bisect_right(places, place) - 1
            shift = ranges[at][0] - places[at]
            self.decoded[ranges[at]].append(Instruction(place + shift, end + shift, re.sub(
                r"(?<![$\w*-])0x([0-9a-f]+)$", lambda m: hex((int(m[1], 16) + shift) & ADDRESS_MASK),
                instruction.strip())))

    def instructions(self, start, end):
        self.decode([(start, end)])
        return self.decoded[start, end]


def branch(text):
    """("call" or "jump", target) of an instruction, the target None if it is indirect; or None."""
    found = re.match(r"(?:(?:bnd|notrack|addr32|data16|rex\S*|[cdefgs]s) )*(callq?|jmpq?|j[a-z]+) +(.*)",
                     text)
    if not found:
        return None
    direct = re.fullmatch(r"0x([0-9a-f]+)", found[2].strip())
    kind = "call" if found[1].startswith("call") else "jump"
    return kind, int(direct[1], 16) if direct else None


def is_table_jump(instructions, at):
    """Is the indirect jump one of a switch? Its target is then read from a table, or the table's address
    in a register is added. What adds a word of memory is a tail call: glibc's to DT_FINI of a file."""
    text = instructions[at].text
    if "notrack" in text or re.search(r"\(,%r\w+,8\)", text):
        return True
    register = re.search(r"\*(%r\w+)$", text)
    return bool(register) and any(
        re.match(rf"add +%r\w+,{register[1]}$", before.text) for before in instructions[max(0, at - 3):at])


# --- the check -----------------------------------------------------------------------------------

class Checker:
    def __init__(self):
        self.binaries = {}

    def binary(self, path):
        if path not in self.binaries:
            try:
                self.binaries[path] = Binary(path) if path.startswith("/") else None
            except (OSError, ValueError, struct.error):
                self.binaries[path] = None
        return self.binaries[path]

    @staticmethod
    def ranges_of(binary, returns):
        """The ranges of code that end_in_call() reads."""
        start = binary.start_of(returns - 1)
        if start is not None and returns - start <= CODE_MAX:
            return [(start, returns + len(PADDING))]
        return [(returns - size, returns + len(PADDING)) for size in range(2, LONGEST_CALL)]

    def prepare(self, pairs):
        """Reads the code before all return addresses at once, since each start of objdump costs."""
        wanted = collections.defaultdict(set)
        for caller, _ in pairs:
            binary = self.binary(caller.path)
            if binary:
                wanted[caller.path].update(self.ranges_of(binary, caller.address + 1))
        for path, ranges in wanted.items():
            self.binaries[path].decode(ranges)

    def call_before(self, binary, returns):
        """The call that ends at the return address: (whether there is one, its target or None)."""
        for start, end in self.ranges_of(binary, returns):
            for instruction in binary.instructions(start, end):
                if instruction.end == returns:
                    found = branch(instruction.text)
                    if found and found[0] == "call":
                        return True, found[1]
        return False, None

    def exits(self, binary, address):
        """Where the function at the address jumps to, outside itself; None: anywhere."""
        end = binary.end_of(address)
        instructions = binary.instructions(address, end)
        targets = set()
        for at, instruction in enumerate(instructions):
            found = branch(instruction.text) if instruction.start < end else None
            if not found or found[0] == "call":
                continue
            if found[1] is None and not is_table_jump(instructions, at):
                return None
            if found[1] is not None and not address <= found[1] < end:
                targets.add(found[1])
        return targets

    def judge(self, caller, callee):
        """None: explained; "": cannot be checked; a text: what is wrong; or the target of a call."""
        binary, callee_binary = self.binary(caller.path), self.binary(callee.path)
        if not binary or binary.returns_from_signal(caller.address):
            return ""
        if callee_binary and callee_binary.returns_from_signal(callee.address):
            return ""
        is_call, target = self.call_before(binary, caller.address + 1)
        if not is_call:
            # A coroutine's first function: the address itself is drawn.
            is_first = binary.start_of(caller.address) == caller.address
            return "" if is_first else "no call before the return address"
        return None if "indirect_thunk" in callee.name else target

    def follow(self, calls):
        """Follows jumps from the targets of direct calls, {(caller, callee): target}, to the
        callees. All at once, since each start of objdump costs. Returns those that lead there."""
        explained = set()
        paths = {pair: ({target}, set()) for pair, target in calls.items()}
        for _ in range(JUMPS_MAX + 1):
            wanted = collections.defaultdict(set)
            for pair, (now, _) in list(paths.items()):
                binary = self.binaries[pair[0].path]
                if self.binary(pair[1].path) is binary and any(
                        binary.is_in_function_at(target, pair[1].address) for target in now):
                    explained.add(pair)
                    del paths[pair]
                else:
                    wanted[binary].update((target, binary.end_of(target)) for target in now)
            for binary, ranges in wanted.items():
                binary.decode(ranges)
            for pair, (now, before) in list(paths.items()):
                exits = [self.exits(self.binaries[pair[0].path], target) for target in now]
                if None in exits:
                    explained.add(pair)
                    del paths[pair]
                else:
                    paths[pair] = set().union(*exits) - before - now, before | now
        return explained

    def check(self, pairs):
        """{(caller, callee): None if explained, "" if it cannot be checked, or what is wrong}."""
        self.prepare(pairs)
        answers = {pair: self.judge(*pair) for pair in pairs}
        calls = {pair: answer for pair, answer in answers.items() if isinstance(answer, int)}
        explained = self.follow(calls)
        for pair, target in calls.items():
            answers[pair] = None if pair in explained else f"the call leads to {target:#x}"
        return answers


def is_user(frame):
    """Not of the kernel, its modules and BPF programs."""
    return frame.path.startswith(("/", "[jit", "[JIT", "[vdso"))


def pairs_of(frames):
    """(caller, callee) of a chain's user part."""
    return [(caller, callee) for callee, caller in zip(frames, frames[1:])
            if is_user(caller) and is_user(callee)]


def place(frame):
    return f"{frame.name or '?'} ({frame.path.rsplit('/', 1)[-1]}+{frame.address:#x})"


class Result:
    def __init__(self):
        self.chains = self.wrong_chains = 0
        self.pairs = collections.Counter()
        self.wrong = collections.Counter()


def check_samples(samples, checker, exception=None):
    result, pairs = Result(), set()
    for _, _, frames in samples:
        pairs.update(pairs_of(frames))
    answers = checker.check(pairs)
    for _, count, frames in samples:
        is_wrong = False
        for caller, callee in pairs_of(frames):
            answer = answers[caller, callee]
            if answer and exception and exception.search(f"{caller.name} -> {callee.name}"):
                answer = ""
            result.pairs["explained" if answer is None else "wrong" if answer else "unchecked"] += count
            if answer:
                is_wrong = True
                result.wrong[f"{place(caller)} -> {place(callee)}: {answer}"] += count
        result.chains += count
        result.wrong_chains += count * is_wrong
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--comm", default=".*")
    parser.add_argument("--except", dest="exception")
    parser.add_argument("--most", type=float, default=0)
    parser.add_argument("--shown", type=int, default=10)
    parser.add_argument("profile")
    options = parser.parse_args()
    samples = [sample for sample in Profile.read(options.profile).samples
               if re.fullmatch(options.comm, sample[0])]
    result = check_samples(samples, Checker(),
                           re.compile(options.exception) if options.exception else None)
    print(f"chains {result.chains}, unexplained {result.wrong_chains}")
    print(f"pairs {sum(result.pairs.values())}, unexplained {result.pairs['wrong']}, "
          f"not checked {result.pairs['unchecked']}")
    for text, count in result.wrong.most_common(options.shown):
        print(f"  {count} {text}")
    if sum(result.pairs.values()) == result.pairs["wrong"] + result.pairs["unchecked"]:
        sys.exit(f"{options.profile}: no caller and callee of these commands could be explained")
    sys.exit(result.wrong_chains * 1000 > options.most * result.chains)


if __name__ == "__main__":
    main()
