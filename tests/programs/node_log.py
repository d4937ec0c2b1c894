# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the stacks that node --prof --log-source-position writes into its log, with the functions that are inlined.

V8 logs the address of each piece of code, where it moves it, and for optimized code which instructions are of functions
that the compiler has put into it. Each tick has the address of the interrupted instruction and those of the frames.
"""
import bisect
import re

FUNCTION = re.compile(r"(.*?) ?(\S*):\d+:\d+$")
POSITION = re.compile(r"C(\d+)O\d+(?:I(\d+))?")
INLINED = re.compile(r"F(\d+)O\d+(?:I(\d+))?")
ESCAPED = re.compile(r"\\x([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\(.)")
NAME_CHARACTERS = 100
COLLECTING = 1
UNKNOWN = ("?", "?")
INTERPRETED = "~"


def unescaped(text):
    return ESCAPED.sub(lambda match: chr(int(match[1] or match[2], 16)) if match[1] or match[2] else match[3], text)


class Code:
    """A piece of code: of a function of a script, or one of V8's own."""

    def __init__(self, kind, size, name, state):
        self.kind, self.size, self.state = kind, size, state
        self.function = None
        self.name = name
        self.is_script = state is not None  # a function of a script, perhaps without a file
        match = FUNCTION.match(name) if self.is_script else None
        if match and match[2]:
            self.function = ((match[1] or "(anonymous)")[:NAME_CHARACTERS], match[2].rsplit("/", 1)[-1])
        self.offsets, self.calls, self.inlined, self.functions = [], [], [], []

    def set_inlined(self, positions, inlined, functions):
        found = POSITION.findall(positions)
        self.offsets = [int(offset) for offset, _ in found]
        self.calls = [int(call) if call else None for _, call in found]
        self.inlined = [(int(function), int(call) if call else None) for function, call in INLINED.findall(inlined)]
        self.functions = functions

    def functions_at(self, offset):
        """The functions of an instruction, the outermost first; those without a file are left out."""
        chain, at = [], bisect.bisect_right(self.offsets, offset) - 1
        call = self.calls[at] if at >= 0 else None
        while call is not None:
            function, call = self.inlined[call]
            chain.append(self.functions[function])
        return tuple(function for function in (self.function, *reversed(chain)) if function)


class Codes:
    """The pieces of code by their addresses."""

    def __init__(self):
        self.starts, self.codes = [], {}

    def add(self, start, code):
        at = bisect.bisect_left(self.starts, start)
        while at < len(self.starts) and self.starts[at] < start + code.size:
            del self.codes[self.starts.pop(at)]
        if at and self.starts[at - 1] + self.codes[self.starts[at - 1]].size > start:
            del self.codes[self.starts.pop(at - 1)]
            at -= 1
        self.starts.insert(at, start)
        self.codes[start] = code

    def move(self, start, to):
        code = self.codes.pop(start, None)
        if code:
            self.starts.remove(start)
            self.add(to, code)

    def find(self, address):
        """The code at an address, and how far into it the address is."""
        at = bisect.bisect_right(self.starts, address) - 1
        if at < 0:
            return None, 0
        code = self.codes[self.starts[at]]
        offset = address - self.starts[at]
        return (code, offset) if offset < code.size else (None, 0)

    def find_frame(self, address):
        """The code of a frame: the address is behind its call, or that of a bytecode. Where an interpreted function
        begins, V8 gives the first bytecode, or the byte before it."""
        code, offset = self.find(address - 1)
        if code is None:
            code, offset = self.find(address + 1)
            if code is None or code.state != INTERPRETED or offset > 2:
                return None, 0
        return code, offset


class Tick:
    """A sample of V8's: the functions, those as --cpu-prof shows them, and what ran."""

    def __init__(self, time, codes, pc, external, state, frames):
        self.time, self.pc, self.collecting = time, pc, state == COLLECTING
        code, offset = (None, 0) if external else codes.find(pc)
        self.leaf = code
        outer = []
        for address in reversed(frames):
            caller, at = codes.find_frame(address)
            if caller:
                outer += caller.functions_at(at)
        self.outer = tuple(outer)
        self.functions = self.outer + (code.functions_at(offset) if code else ())
        # That profile looks up what is inlined for the frames, not for the interrupted instruction.
        self.profiled = self.outer + ((code.function,) if code and code.function else ())


def read_ticks(path, look=None):
    """The ticks. Calls `look` with each and the pieces of code of its time."""
    codes, functions, ticks = Codes(), {}, []
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            event, *values = line.rstrip("\n").split(",")
            if event == "code-creation":
                kind, _, _, start, size, name, *rest = values
                code = Code(kind, int(size), unescaped(name), rest[1] if len(rest) > 1 else None)
                codes.add(int(start, 16), code)
                if code.is_script:
                    functions[int(rest[0], 16)] = code.function
            elif event == "code-move":
                codes.move(int(values[0], 16), int(values[1], 16))
            elif event == "sfi-move":
                function = functions.pop(int(values[0], 16), UNKNOWN)
                if function != UNKNOWN:
                    functions[int(values[1], 16)] = function
            elif event == "code-source-info":
                code = codes.codes.get(int(values[0], 16))
                if code:
                    code.set_inlined(values[4], values[5],
                                     [functions.get(int(one, 16), UNKNOWN) for one in values[6].split("S")[1:]])
            elif event == "tick":
                pc, time, external, _, state, *frames = values
                ticks.append(Tick(int(time), codes, int(pc, 16), external == "1", int(state),
                                  [int(frame, 16) for frame in frames if frame.startswith("0x")]))
                if look:
                    look(ticks[-1], codes)
    return ticks
