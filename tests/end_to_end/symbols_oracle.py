# SPDX-License-Identifier: GPL-2.0-or-later
"""symbols_oracle.py SUBJECTS FOLDER PILOTLIGHT LLVM-SYMBOLIZER: compares the answers of
`pilotlight symbols lookup` with those of other tools, and prints TAP with its plan at the end.

A line of SUBJECTS is a test binary, its fields separated by tabs: a name, the binary to add, the file
for llvm-symbolizer (another one if it cannot read the first), "chains" or "functions" (the kind of
comparison), and options of `symbols add`. Or a name, "skip" and the reason.

Functions are equal if their names are equal, or if nm or readelf prove that both names are right, as
with aliases, or that only ours is right. The number of each proof is printed. All other differences
count as such; they are classified by what differs and by the tool with which eu-addr2line and
binutils' addr2line agree."""

import collections
import os
import re
import subprocess
import sys
import threading
import time

from symbols_oracle_tools import (UNKNOWN, Mismatch, Symbols, ask_binutils,
                                  ask_elfutils, ask_llvm, ask_pilotlight, debug_file, demangle,
                                  random_addresses, run)

ADDRESSES = int(os.environ.get("ADDRESSES", 4000))
ELFUTILS_ADDRESSES = 100
ADJUDGED_MAX = 100  # differences of a binary that eu-addr2line judges
STARTS = 40         # starts of symbols before an address that are examined
FUNCTIONS_LEAST, CHAINS_LEAST = 99.9, 99.5
JOBS = 2
TESTS_EACH = 2
ALTERNATE = ("they do not read the file that dwz made (.gnu_debugaltlink), and readelf has the name "
             "there")


class Subject:
    def __init__(self, fields, folder):
        self.name, self.path, *rest = fields
        self.why_not = rest[0] if self.path == "skip" else None
        if not self.why_not:
            self.oracle, self.by, *self.options = rest
        self.cache = os.path.join(folder, "cache-" + re.sub(r"\W+", "-", self.name))
        self.lines = []  # of TAP, without numbers
        self.symbols = None

    def ok(self, passed, text):
        self.lines.append(("ok" if passed else "not ok", f"{self.name}: {text}"))

    def note(self, text):
        self.lines.append(("#", text))


def same_name(ours, theirs):
    if ours == theirs:
        return True
    head, mark, tail = ours.partition("…")
    return bool(mark) and len(theirs) > 1000 and theirs.startswith(head) and theirs.endswith(tail)


def plain(name):
    """The name without a compiler's suffix for a part or a version of a function."""
    return re.sub(r"( \[clone [^]]*\])+$|(\.(part|isra|constprop|cold|lto_priv|localalias|llvm)"
                  r"(\.\d+)*)+$", "", name)


class Comparison:
    """Our chains and another tool's for the same addresses."""

    def __init__(self, addresses, ours, theirs, by, symbols):
        self.addresses, self.ours, self.theirs, self.by = addresses, ours, list(theirs), by
        self.excused = {}
        self.find_excused(symbols)
        self.find_alternates(symbols)
        self.functions = sum(self.same_innermost(i) for i in range(len(addresses)))
        self.by_name = sum(same_name(o[0].function, t[0].function) for o, t in zip(ours, theirs))
        self.different = [i for i in range(len(addresses)) if not self.same(i)]

    def find_excused(self, symbols):
        """Positions whose outermost functions differ and where nm decides."""
        suspects = [i for i, (o, t) in enumerate(zip(self.ours, self.theirs))
                    if not same_name(o[-1].function, t[-1].function)]
        if not suspects:
            return
        names = demangle({name for i in suspects
                          for name in symbols.names_before(self.addresses[i], STARTS)})
        for i in suspects:
            excuse = self.excuse(symbols, names, self.addresses[i], self.ours[i][-1].function,
                                 self.theirs[i][-1].function)
            if excuse:
                self.excused[i] = excuse

    def find_alternates(self, symbols):
        """Frames that only we name, by the file that dwz made."""
        for i, (ours, theirs) in enumerate(zip(self.ours, self.theirs)):
            if len(ours) != len(theirs) or i in self.excused:
                continue
            unknown = [n for n, (o, t) in enumerate(zip(ours, theirs))
                       if t.function == UNKNOWN != o.function]
            if unknown and all(symbols.is_in_alternate(ours[n].function) for n in unknown):
                self.excused[i] = ALTERNATE
                theirs = list(theirs)
                for n in unknown:
                    theirs[n] = theirs[n]._replace(function=ours[n].function)
                self.theirs[i] = theirs

    @staticmethod
    def excuse(symbols, names, address, ours, theirs):
        for start in symbols.before(address, STARTS):
            known = [names[name] for name in symbols.starts[start]]
            if theirs in known and any(same_name(ours, name) for name in known):
                return "alias: nm has both names for one place"
        covering = [names[name] for name in symbols.covering(address, STARTS)]
        is_ours = any(same_name(ours, name) for name in covering) or (
            ours == UNKNOWN and not covering)
        if is_ours and theirs == UNKNOWN:
            return "they know none: nm has the symbol"
        if ours == UNKNOWN and theirs in symbols.data():
            return "theirs is data among the code (readelf: OBJECT)"
        labels = {name for start in symbols.before(address, STARTS)
                  for name, size in symbols.starts[start].items() if size == 0}
        if is_ours and theirs in {names[name] for name in labels}:
            return "theirs is a label without a size (nm), within the function that is ours"
        if is_ours and theirs in symbols.debugging:
            return "theirs marks a place in a section that is not code (nm: N), and is not there"
        return None

    def same_function(self, i, ours, theirs, is_outermost):
        return same_name(ours.function, theirs.function) or (is_outermost and i in self.excused)

    def same_innermost(self, i):
        ours, theirs = self.ours[i], self.theirs[i]
        return self.same_function(i, ours[0], theirs[0], len(ours) == len(theirs) == 1)

    def same(self, i):
        ours, theirs = self.ours[i], self.theirs[i]
        if self.by == "functions":
            return self.same_function(i, ours[-1], theirs[-1], True)
        return len(ours) == len(theirs) and all(
            self.same_function(i, o, t, n == len(ours) - 1) and o[1:3] == t[1:3]
            for n, (o, t) in enumerate(zip(ours, theirs)))

    def columns(self):
        same = [i for i in range(len(self.ours)) if i not in set(self.different)]
        return sum(all(o.column == t.column for o, t in zip(self.ours[i], self.theirs[i]))
                   for i in same), len(same)

    def kind(self, i):
        """The differing part, from the innermost frame on."""
        ours, theirs = self.ours[i], self.theirs[i]
        if (len(ours) > len(theirs) == 1 and ours[0][1:3] == theirs[0][1:3] and
                plain(ours[-1].function).startswith(plain(theirs[0].function))):
            return "theirs is the outermost function, at the innermost line"
        for n, (o, t) in enumerate(zip(ours, theirs)):
            if not self.same_function(i, o, t, n == len(ours) - 1 == len(theirs) - 1):
                if UNKNOWN in (o.function, t.function):
                    return "function known to " + ("us" if t.function == UNKNOWN else "them")
                if plain(o.function) == plain(t.function):
                    return "name of a part of the function"
                return "function"
            if self.by == "chains" and o[1:3] != t[1:3]:
                if not o.line or not t.line:
                    return "line known to " + ("us" if o.line else "them")
                return "line" if o.file == t.file else "file"
        return "frames missing in " + ("ours" if len(ours) < len(theirs) else "theirs")

    def agrees(self, i, kind, chains, third):
        """Whether a third answer agrees with one of the two in the differing part."""
        chain = chains[i]
        if "frames" in kind:
            return len(chain) == len(third)
        for ours, theirs, other, judge in zip(self.ours[i], self.theirs[i], chain, third):
            if ours[:3] == theirs[:3]:
                continue
            if "function" in kind:
                return plain(other.function) == plain(judge.function)
            return other[1:3] == judge[1:3]
        return False

    def verdict(self, i, kind, third):
        with_us = self.agrees(i, kind, self.ours, third)
        with_them = self.agrees(i, kind, self.theirs, third)
        return {(True, False): "is with us", (False, True): "is with them",
                (True, True): "is with both"}.get((with_us, with_them), "is with neither")


def shown(chain):
    return " < ".join(f"{frame.function[:70]} {os.path.basename(frame.file)}:{frame.line}"
                      for frame in chain[:4]) + (f" < … {len(chain)}" if len(chain) > 4 else "")


def explain(subject, comparison):
    """Counts the differences by class, with an example each."""
    asked = comparison.different[:ADJUDGED_MAX]
    addresses = [comparison.addresses[i] for i in asked]
    judges = [(name, dict(zip(asked, ask(subject.oracle, addresses))))
              for name, ask in (("eu-addr2line", ask_elfutils), ("addr2line", ask_binutils))
              if asked]
    classes = collections.defaultdict(list)
    for i in comparison.different:
        kind = comparison.kind(i)
        verdicts = [f"{name} {comparison.verdict(i, kind, answers[i])}"
                    for name, answers in judges if i in answers] or ["nobody else was asked"]
        classes[f"{kind}; {', '.join(verdicts)}"].append(i)
    for name, members in sorted(classes.items(), key=lambda item: -len(item[1])):
        i = members[0]
        subject.note(f"    {len(members)} x {name}; {comparison.addresses[i]:#x}:")
        subject.note(f"        ours   {shown(comparison.ours[i])}")
        subject.note(f"        theirs {shown(comparison.theirs[i])}")
        for judge, answers in judges:
            if i in answers and "neither" in name:
                subject.note(f"        {judge} {shown(answers[i])}")


def note_excuses(subject, comparison):
    for excuse, count in collections.Counter(comparison.excused.values()).most_common():
        subject.note(f"    {count} x taken for equal; {excuse}")


def per_cent(part, whole):
    return 100 * part / whole if whole else 100.0


def compare_with_llvm(subject, tools, addresses, ours):
    theirs = ask_llvm(tools["llvm-symbolizer"], subject.oracle, addresses)
    comparison = Comparison(addresses, ours, theirs, subject.by, subject.symbols)
    functions = per_cent(comparison.functions, len(addresses))
    same = per_cent(len(addresses) - len(comparison.different), len(addresses))
    by_name = per_cent(comparison.by_name, len(addresses))
    if subject.by != "chains":
        functions = same
    text = (f"{len(addresses)} addresses as llvm-symbolizer has them: functions {functions:.2f} % "
            f"({by_name:.2f} % to the letter)")
    if subject.by == "chains":
        columns, counted = comparison.columns()
        frames = sum(map(len, ours)) / len(ours)
        text += (f", whole chains with lines {same:.2f} % ({frames:.2f} frames each), columns of "
                 f"those {per_cent(columns, counted):.2f} %")
    subject.ok(functions >= FUNCTIONS_LEAST and (subject.by == "functions" or same >= CHAINS_LEAST),
               text)
    note_excuses(subject, comparison)
    explain(subject, comparison)
    return comparison


def compare_with_elfutils(subject, addresses, ours, llvm):
    """Judges few addresses, because it is slow. It is often the only tool with its answer, so only an
    answer that no other tool shares counts against us."""
    few = addresses[:ELFUTILS_ADDRESSES]
    theirs = ask_elfutils(subject.oracle, few)
    comparison = Comparison(few, ours, theirs, subject.by, subject.symbols)
    alone = [i for i in comparison.different if not llvm.same(i)]
    classes = collections.Counter(comparison.kind(i) for i in comparison.different
                                  if llvm.same(i))
    equal = len(few) - len(comparison.different)
    subject.ok(per_cent(len(few) - len(alone), len(few)) >= CHAINS_LEAST,
               f"{len(few)} addresses as eu-addr2line has them: {equal}; as llvm-symbolizer but not "
               f"eu-addr2line: {len(few) - equal - len(alone)}; as neither: {len(alone)}")
    for kind, count in classes.most_common():
        subject.note(f"    {count} x eu-addr2line alone differs: {kind}")
    for i in alone[:3]:
        subject.note(f"    as neither, {few[i]:#x}:")
        subject.note(f"        ours   {shown(ours[i])}")
        subject.note(f"        eu     {shown(theirs[i])}")


def examine(subject, tools):
    began = time.monotonic()
    addresses = random_addresses(subject.path, ADDRESSES)
    _, errors, status = run([tools["pilotlight"], "symbols", "add", "--cache", subject.cache,
                             *subject.options, subject.path])
    if status != 0:
        subject.ok(False, f"symbols add fails: {errors.strip()}")
        subject.ok(False, "there is nothing to ask")
        return
    subject.symbols = Symbols({subject.path, subject.oracle, *debug_file(subject.path)})
    ours = ask_pilotlight(tools["pilotlight"], subject.cache, subject.path, addresses)
    llvm = compare_with_llvm(subject, tools, addresses, ours)
    compare_with_elfutils(subject, addresses, ours, llvm)
    subject.note(f"    {time.monotonic() - began:.1f} s")


def examine_safely(subject, tools):
    try:
        examine(subject, tools)
    except (Mismatch, OSError, ValueError, subprocess.SubprocessError) as error:
        subject.ok(False, f"cannot be compared: {error}")
    while sum(verdict != "#" for verdict, _ in subject.lines) < TESTS_EACH:
        subject.ok(False, "not reached")


def work(queue, tools):
    while True:
        try:
            subject = queue.popleft()
        except IndexError:
            return
        if subject.why_not:
            subject.lines.append(("ok", f"{subject.name} # SKIP {subject.why_not}"))
        else:
            examine_safely(subject, tools)


def main(list_path, folder, pilotlight, llvm_symbolizer):
    with open(list_path, encoding="utf-8") as file:
        subjects = [Subject(line.rstrip("\n").split("\t"), folder) for line in file]
    tools = {"pilotlight": pilotlight, "llvm-symbolizer": llvm_symbolizer}
    queue = collections.deque(subjects)
    threads = [threading.Thread(target=work, args=(queue, tools)) for _ in range(JOBS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    number = 0
    for subject in subjects:
        for verdict, text in subject.lines:
            number += verdict != "#"
            print(f"# {text}" if verdict == "#" else f"{verdict} {number} - {text}")
    print(f"1..{number}")
    return any(verdict == "not ok" for subject in subjects for verdict, _ in subject.lines)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
