# SPDX-License-Identifier: GPL-2.0-or-later
"""Walks stacks of V8 in memory that perf saved, by what V8 itself logs of its code (node_log.py).

perf samples rt_sigreturn with a copy of the stack. There the kernel has put the registers of the code that the signal
interrupted. All generated code keeps frame pointers, and so does the code of node itself.
"""
import collections
import struct

SAMPLE = 9
IDENTIFIER, IP, TID, TIME, ADDRESS, CALLCHAIN, ID, CPU, PERIOD, STREAM, RAW, REGISTERS, STACK = (
    1 << bit for bit in (16, 0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 13))
SIGNAL_REGISTERS = 72  # in the frame of a signal: r12 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip
WORD = 8
CONTEXT, FUNCTION, BYTECODES, BYTECODE_OFFSET = -8, -16, -32, -40  # from the frame pointer on
PROLOGUE_BYTES = 64
BYTECODES_HEAD_MAX = 72
SPILLED_WORDS = 48
FRAMES_MAX = 1000
INTERPRETER = ("InterpreterEntryTrampoline", "InterpreterEnterAtBytecode", "InterpreterEnterAtNextBytecode",
               "BaselineOrInterpreterEnterAtBytecode", "BaselineOrInterpreterEnterAtNextBytecode")
OUTLINED_PROLOGUE = "BaselineOutOfLinePrologue"

# The time in microseconds; what the registers were; where the copy of the stack begins.
Signal = collections.namedtuple("Signal", "time ip sp fp function bytecodes base stack")


def read_signals(path):
    """The signals of main threads, in perf's file of one event whose user registers are bp, sp and ip."""
    with open(path, "rb") as file:
        data = file.read()
    _, _, attributes, _, at, size = struct.unpack_from("<6Q", data, 8)
    kinds = struct.unpack_from("<Q", data, attributes + 24)[0]
    end, signals = at + size, []
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if kind == SAMPLE:
            signals += signals_of(data, at + WORD, kinds)
        at += size or WORD
    return sorted(signals)


def signals_of(data, at, kinds):
    word = struct.Struct("<Q").unpack_from
    at += WORD * bool(kinds & IDENTIFIER) + WORD * bool(kinds & IP)
    process, thread, time = struct.unpack_from("<IIQ", data, at)
    at += 2 * WORD + sum(WORD * bool(kinds & kind) for kind in (ADDRESS, ID, STREAM, CPU, PERIOD))
    if kinds & CALLCHAIN:
        at += WORD + WORD * word(data, at)[0]
    if kinds & RAW:
        at += 4 + struct.unpack_from("<I", data, at)[0]
    has_registers, _, base = struct.unpack_from("<3Q", data, at)
    at += WORD + 3 * WORD * bool(has_registers)
    size = word(data, at)[0]
    if process != thread or not has_registers or size == 0:
        return
    at += WORD
    stack = data[at:at + min(size, word(data, at + size)[0])]
    if len(stack) > SIGNAL_REGISTERS + 13 * WORD:
        bytecodes, _, _, _, function, _, fp, _, _, _, _, sp, ip = struct.unpack_from("<13Q", stack, SIGNAL_REGISTERS)
        yield Signal(time // 1000, ip, sp, fp, function, bytecodes, base, stack)


class Walk:
    """The functions of the interrupted stack, the outermost first, and which frame was found how."""

    def __init__(self, codes, copied_by, signal):
        self.codes, self.copied_by, self.signal = codes, copied_by, signal
        self.entered = ()  # functions whose frame is not made yet
        groups, caller = self.leaf()
        self.entered = groups[0] if caller and groups else ()
        fp = signal.fp
        if caller:
            groups.append(self.functions_at(caller, fp))
        for _ in range(FRAMES_MAX):
            outer, back = self.word(fp), self.word(fp + WORD)
            if outer is None or back is None or outer <= fp:
                break
            groups.append(self.functions_at(back, outer))
            fp = outer
        self.functions = tuple(function for group in reversed(groups) for function in group)

    def word(self, address):
        at = address - self.signal.base
        return struct.unpack_from("<Q", self.signal.stack, at)[0] if 0 <= at <= len(self.signal.stack) - WORD else None

    def code_at(self, address):
        """V8 logs its own functions where the program has them, and runs copies."""
        code, offset = self.codes.find(address)
        return (code, offset) if code else self.codes.find(address + self.copied_by)

    def called_from(self, address):
        """The word at this address, if it is a return address in code that runs functions of scripts."""
        back = self.word(address)
        code = self.code_at(back - 1)[0] if back else None
        return back if code and (code.is_script or self.interprets(code)) else None

    @staticmethod
    def interprets(code):
        return code.kind == "BytecodeHandler" or code.name in INTERPRETER

    def has_function(self, fp):
        """V8's own frames have a small number where those of functions have an object."""
        word = self.word(fp + CONTEXT)
        return word is not None and word & 1

    def interpreted(self, fp):
        bytecodes, offset = self.word(fp + BYTECODES), self.word(fp + BYTECODE_OFFSET)
        code = self.codes.find(bytecodes + (offset >> 32))[0] if bytecodes and offset and bytecodes & 1 else None
        return (code.function,) if code and code.function else ()

    def of_bytecodes(self, bytecodes):
        """The function of the object: V8 logs where its instructions begin."""
        for at in range(bytecodes, bytecodes + BYTECODES_HEAD_MAX):
            code, offset = self.codes.find(at)
            if code and offset == 0:
                return (code.function,) if code.function else ()
        return ()

    def functions_at(self, back, fp):
        code, offset = self.code_at(back - 1)
        if code is None:
            return ()
        if code.is_script:
            return code.functions_at(offset)
        return self.interpreted(fp) if self.interprets(code) and self.has_function(fp) else ()

    def leaf(self):
        """What the interrupted instruction runs, and the return address if it has no frame of its own."""
        signal = self.signal
        code, offset = self.code_at(signal.ip)
        if code is None:
            return [], None
        is_entered = self.word(signal.fp + FUNCTION) != signal.function
        if code.is_script:
            caller = self.word(signal.sp) if is_entered and offset < PROLOGUE_BYTES else None
            if caller and not self.code_at(caller - 1)[0]:
                caller = self.word(signal.sp + WORD)  # above the frame pointer that was pushed
            return [code.functions_at(offset)], caller
        if not self.has_function(signal.fp):
            return [], None
        if self.interprets(code):
            return [self.interpreted(signal.fp)], None
        if code.name == OUTLINED_PROLOGUE:
            # It pops its return address, which leads to the function's code, and makes the frame.
            is_made = not self.called_from(signal.sp)
            return [self.of_bytecodes(signal.bytecodes)], None if is_made else self.word(signal.sp + WORD)
        for at in range(signal.sp, min(signal.fp, signal.sp + SPILLED_WORDS * WORD), WORD):
            back = self.called_from(at)
            if back:
                return [self.functions_at(back, signal.fp)], None
        return [], None
