# SPDX-License-Identifier: GPL-2.0-or-later
"""The symbolizers, with one form of answer: a list of frames, innermost first. Functions are
demangled and paths normalised lexically; an unknown name is "??" and an unknown number 0."""

import bisect
import collections
import os
import re
import struct
import subprocess

Frame = collections.namedtuple("Frame", "function file line column")
UNKNOWN = "??"
PLACE = re.compile(r"\[.+ function at \+0x[0-9a-f]+\]")

SHF_EXECINSTR = 4


def run(command, text="", seconds=600):
    """The output of a program, whatever its exit status; standard error is kept."""
    environment = {k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"}
    environment["LC_ALL"] = "C"
    done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace",
                          timeout=seconds, env=environment, check=False)
    return done.stdout, done.stderr, done.returncode


def text_range(path):
    """Address and size of .text."""
    with open(path, "rb") as file:
        header = file.read(64)
        if header[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no 64-bit ELF file")
        offset, = struct.unpack_from("<Q", header, 40)
        size, count, names = struct.unpack_from("<HHH", header, 58)
        file.seek(offset)
        table = file.read(size * count)
        sections = [struct.unpack_from("<IIQQQQIIQQ", table, i * size) for i in range(count)]
        file.seek(sections[names][4])
        strings = file.read(sections[names][5])
    for name, _, flags, address, _, length, *_ in sections:
        if flags & SHF_EXECINSTR and strings[name:].split(b"\0", 1)[0] == b".text":
            return address, length
    raise ValueError(f"{path} has no .text")


def build_id(path):
    notes, _, _ = run(["readelf", "-n", path])
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    return found.group(1) if found else None


def debug_file(path):
    """A list with the path of this machine's debug file by build-id, or an empty list."""
    identity = build_id(path)
    found = f"/usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug" if identity else ""
    return [found] if os.path.exists(found) else []


def random_addresses(path, count):
    """Distinct addresses in random order, the same in every run."""
    start, size = text_range(path)
    state, addresses = 88172645463325252, {}
    while len(addresses) < min(count, size // 2):
        state ^= state << 13 & (1 << 64) - 1
        state ^= state >> 7
        state ^= state << 17 & (1 << 64) - 1
        addresses[start + state % size] = None
    return list(addresses)


def demangle(names):
    """Demangles by libiberty without implementation details (std::string, no hashes of Rust's crates),
    as we do; other demanglers spell names differently."""
    distinct = sorted(names)
    text, _, _ = run(["c++filt", "-i"], "".join(name + "\n" for name in distinct))
    return dict(zip(distinct, text.split("\n")))


def normal_path(path):
    return path if path in ("", UNKNOWN) else os.path.normpath(path)


def place(text):
    """Parses FILE:LINE:COLUMN or FILE:LINE, with an optional "(discriminator 3)" or "?" after it."""
    text = re.sub(r" \(discriminator \d+\)$", "", text)
    found = re.fullmatch(r"(.*?):(\d+|\?)(?::(\d+))?", text)
    if not found:
        return UNKNOWN, 0, 0
    file, line, column = found.groups()
    line = int(line) if line.isdigit() else 0
    return normal_path(file) if line else UNKNOWN, line, int(column or 0)


def read_chains(text):
    """Parses blocks of function and place lines, each followed by an empty line, like llvm-symbolizer's."""
    chains = []
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if lines == [""]:
            continue
        chains.append([Frame(lines[i], *place(lines[i + 1])) for i in range(0, len(lines) - 1, 2)])
    return chains


def with_names(chains, names):
    return [[frame._replace(function=names.get(frame.function, frame.function)) for frame in chain]
            for chain in chains]


def hexadecimal(addresses):
    return "".join(f"{address:#x}\n" for address in addresses)


def demangled(chains):
    """The name without a symbol version (@GLIBC_2.2)."""
    plain = {name: re.sub(r"(?<=.)@.*", "", name)
             for name in {frame.function for chain in chains for frame in chain}}
    readable = demangle(set(plain.values()))
    return with_names(chains, {name: readable[plain[name]] for name in plain})


class Mismatch(Exception):
    """The number of a tool's answers differs from the number of addresses."""


def counted(chains, addresses, tool, errors):
    if len(chains) != len(addresses):
        raise Mismatch(f"{tool}: {len(chains)} answers to {len(addresses)} addresses: "
                       f"{errors.strip()[-500:]}")
    return chains


def ask_llvm(program, path, addresses):
    out, errors, _ = run([program, f"--obj={path}", "--no-demangle", "--inlines",
                          "--functions=linkage"], hexadecimal(addresses))
    return demangled(counted(read_chains(out), addresses, program, errors))


def ask_elfutils(path, addresses):
    """Parses an address line, then pairs of a function (with its inlining) and a place."""
    out, errors, _ = run(["eu-addr2line", "-a", "-f", "-i", "-e", path], hexadecimal(addresses))
    blocks = re.split(r"^0x[0-9a-f]{16}\n", out, flags=re.MULTILINE)[1:]
    chains = []
    for block in blocks:
        lines = block.rstrip("\n").split("\n")
        chains.append([Frame(re.sub(r" inlined at .* in .*$", "", function), *place(where))
                       for function, where in zip(lines[::2], lines[1::2])])
    return demangled(counted(chains, addresses, "eu-addr2line", errors))


def ask_binutils(path, addresses):
    """Like eu-addr2line, with another mark for inlined calls; it also reads the file that dwz made."""
    out, errors, _ = run(["addr2line", "-a", "-f", "-i", "-e", path], hexadecimal(addresses))
    blocks = re.split(r"^0x[0-9a-f]{16}\n", out, flags=re.MULTILINE)[1:]
    chains = []
    for block in blocks:
        lines = block.rstrip("\n").split("\n")
        chains.append([Frame(function, *place(where))
                       for function, where in zip(lines[::2], lines[1::2])])
    return demangled(counted(chains, addresses, "addr2line", errors))


def ask_pilotlight(program, cache, path, addresses):
    out, errors, _ = run([program, "symbols", "lookup", "--cache", cache, path],
                         hexadecimal(addresses))
    chains = counted(read_chains(out), addresses, "pilotlight symbols lookup", errors)
    # A function without a symbol is named by its place. That is no name to compare.
    places = {frame.function for chain in chains for frame in chain if PLACE.fullmatch(frame.function)}
    return with_names(chains, dict.fromkeys(places, UNKNOWN))


def alternate_files(paths):
    found = set()
    for path in paths:
        text, _, _ = run(["readelf", "-p", ".gnu_debugaltlink", path])
        for name in re.findall(r"\]  (\S+)", text)[:1]:
            found.add(os.path.join(os.path.dirname(os.path.realpath(path)), name))
    return {path for path in found if os.path.exists(path)}


class Symbols:
    """The symbols that nm prints of some files: mangled names and sizes by start."""

    def __init__(self, paths):
        self.starts = collections.defaultdict(dict)
        self.debugging = set()  # names of places in sections other than code
        self.paths = paths
        self.known_data = self.known_alternate = None
        for path in paths:
            for option in (["-P"], ["-P", "-D"]):
                out, _, _ = run(["nm", "--defined-only", *option, path])
                for line in out.split("\n"):
                    self.add(line)
        self.sorted = sorted(self.starts)

    def add(self, line):
        found = re.match(r"(.*) ([a-zA-Z]) ([0-9a-f]+)(?: ([0-9a-f]+))?", line)
        if not found:
            return
        name, kind, start, size = found.groups()
        name = name.split("@")[0]
        if kind in "tTwWiu":
            self.starts[int(start, 16)][name] = int(size or "0", 16)
        elif kind == "N":
            self.debugging.add(name)

    def before(self, address, count):
        """The starts of the last symbols before an address, the nearest first."""
        end = bisect.bisect_right(self.sorted, address)
        return reversed(self.sorted[max(0, end - count):end])

    def names_before(self, address, count):
        return {name for start in self.before(address, count) for name in self.starts[start]}

    def data(self):
        """Names of data symbols by readelf; nm does not separate them from code."""
        if self.known_data is None:
            out = "".join(run(["readelf", "-sW", path])[0] for path in self.paths)
            self.known_data = set(re.findall(r" OBJECT .* ([^ @\n]+)(?:@\S+)?(?: \(\d+\))?\n",
                                             out))
        return self.known_data

    def is_in_alternate(self, name):
        """Whether the file that dwz made has the string, perhaps as the end of another one."""
        if self.known_alternate is None:
            dumps = "".join(run(["readelf", "-z", "-p", ".debug_str", path])[0]
                            for path in alternate_files(self.paths))
            names = set(re.findall(r"^  \[ *[0-9a-f]+\]  (.*)$", dumps, re.MULTILINE))
            readable = demangle(names).values() if names else []
            self.known_alternate = "".join(text + "\n" for text in {*names, *readable})
        return name + "\n" in self.known_alternate

    def covering(self, address, count):
        """Names of the symbols that contain the address and begin last."""
        for start in self.before(address, count):
            names = {name for name, size in self.starts[start].items() if address < start + size}
            if names:
                return names
        return set()
