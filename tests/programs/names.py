# SPDX-License-Identifier: GPL-2.0-or-later
"""The names that a binary itself, its debug file or its .gnu_debugdata give to an address, for judge.py."""
import bisect
import functools
import glob
import lzma
import os
import re
import subprocess
import tempfile

from profiles import Elf, binary_of

NESTED = 32
SUFFIX = re.compile(r"(\.(cold|isra|part|constprop|lto_priv|llvm|clone|localalias)\b(\.?\d+)*|\[clone [^\]]*\]"
                    r"|@.*|::h[0-9a-f]{16}|\s+)+$")


def plain(name):
    """Without parameters and the compiler's suffixes."""
    name = name.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{}")
    name = SUFFIX.sub("", name)
    name = re.sub(r"\(.*", "", name)
    return SUFFIX.sub("", name.rsplit(" ", 1)[-1] if "<" not in name else name)


def is_way(name, ways):
    """Whether our name is among these. Ours leave out the middle of long names."""
    head, dots, tail = name.partition("…")
    if dots:
        return any(way.startswith(plain(head)) or head.startswith(way) for way in ways)
    return plain(name) in ways


class Names:
    def __init__(self, path):
        symbols = set()
        for elf in self.sources(path):
            symbols.update((start, end, elf.text(name)) for start, end, name in elf.symbols())
        self.symbols = sorted(symbols)
        self.starts = [symbol[0] for symbol in self.symbols]

    def sources(self, path):
        binary = binary_of(path)
        if not binary:
            return
        elf = binary.elf
        yield elf
        build_id = elf.build_id()
        places = [f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"] if build_id else []
        for section in elf.sections:
            name = elf.section_name(section)
            if name == ".gnu_debuglink":
                link, folder = elf.text(section[4]), os.path.dirname(path)
                places += [f"{folder}/{link}", f"{folder}/.debug/{link}", f"/usr/lib/debug{folder}/{link}"]
            elif name == ".gnu_debugdata":
                with tempfile.NamedTemporaryFile() as file:
                    file.write(lzma.decompress(elf.data[section[4]:section[4] + section[5]]))
                    file.flush()
                    yield Elf(file.name)
        for place in places:
            if glob.glob(glob.escape(place)):
                yield Elf(place)

    def at(self, address):
        """All names that cover it."""
        i = bisect.bisect_right(self.starts, address)
        return {name for start, end, name in self.symbols[max(0, i - NESTED):i] if start <= address < end}


@functools.lru_cache(None)
def names_of(path):
    return Names(path)


def demangled(names):
    """{name: all ways to write it}. Each start of c++filt costs, so ask for all names at once."""
    names = sorted(names)
    text = "\n".join(re.sub(r"@.*", "", name) for name in names)
    result = {name: {plain(name)} for name in names}
    for style in "auto", "dlang", "rust":
        lines = subprocess.run(["c++filt", "--no-verbose", "-s", style], input=text, capture_output=True,
                               text=True).stdout
        for name, line in zip(names, lines.split("\n")):
            result[name].add(plain(line))
    return result
