#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks a kmemtrace trace byte by byte, as Documentation/ABI/testing/debugfs-kmemtrace describes it.

Usage: kmemtrace_check.py FOLDER

FOLDER has FIFOs cpu<n> or files cpu<n>.out, and total_overruns and abi_version.

Knows nothing of the writer but that document. A sequence number that no stream has must be explained by
total_overruns: an event of at least 24 bytes. Prints a line of JSON with its sums; fails at the first wrong byte.
"""
import array
import json
import os
import re
import struct
import sys
import threading

CORE = struct.Struct("=BBHiQQ")
ALLOC = struct.Struct("=QQIi")
FEATURE = struct.Struct("=HB")
FREE_ID, KINDS, TYPES, PAGES_TYPE = 1, 2, 3, 2


class Wrong(Exception):
    pass


class Sums:
    def __init__(self):
        self.events = self.allocations = self.frees = self.requested = self.allocated = 0
        self.pages = 0
        self.sequences = array.array("i")


def check_features(view, at, end, where):
    while at < end:
        if end - at < FEATURE.size:
            raise Wrong(f"{where}: {end - at} bytes behind the last feature")
        size, _ = FEATURE.unpack_from(view, at)
        if size < FEATURE.size or size > end - at:
            raise Wrong(f"{where}: a feature of {size} bytes")
        at += size


def check_event(view, at, sums, where):
    """Returns the size of the event at `at`, or 0 if it goes on beyond the bytes."""
    if len(view) - at < CORE.size:
        return 0
    kind, type_id, size, sequence, _, pointer = CORE.unpack_from(view, at)
    if kind >= KINDS or type_id >= TYPES:
        raise Wrong(f"{where}: event id {kind}, type id {type_id}")
    core = CORE.size + (0 if kind == FREE_ID else ALLOC.size)
    if size < core:
        raise Wrong(f"{where}: an event of {size} bytes")
    if len(view) - at < size:
        return 0
    if kind != FREE_ID:
        requested, allocated, _, node = ALLOC.unpack_from(view, at + CORE.size)
        if requested == 0 or allocated < requested:
            raise Wrong(f"{where}: {requested} bytes requested, {allocated} allocated")
        if node < -1:
            raise Wrong(f"{where}: node {node}")
        sums.allocations += pointer != 0
        sums.requested += requested if pointer else 0
        sums.allocated += allocated if pointer else 0
    else:
        sums.frees += 1
    sums.pages += type_id == PAGES_TYPE
    check_features(view, at + core, at + size, where)
    sums.events += 1
    sums.sequences.append(sequence)
    return size


def check_stream(path, sums):
    """Reads until the end of the file, or of the FIFO's writer."""
    rest, offset = b"", 0
    with open(path, "rb", buffering=0) as stream:
        while chunk := stream.read(1 << 20):
            data = rest + chunk
            view, at = memoryview(data), 0
            while size := check_event(view, at, sums, f"{path}, byte {offset + at}"):
                at += size
            rest, offset = data[at:], offset + at
    if rest:
        raise Wrong(f"{path}: {len(rest)} bytes at the end are no event")


def missing_of(sequences):
    """How many sequence numbers are missing, modulo 2^32; none may come twice."""
    ordered = sorted(sequences)
    if len(set(ordered)) != len(ordered):
        raise Wrong("a sequence number comes twice")
    if not ordered:
        return 0
    # Numbers start at 1, so all are positive unless they have wrapped, which no test lasts for.
    return ordered[-1] - len(ordered)


def read_text(folder, name):
    path = os.path.join(folder, name)
    if os.stat(path).st_mode & 0o7777 != 0o400:
        raise Wrong(f"{path}: its mode is not 0400")
    with open(path, encoding="ascii") as file:
        text = file.read()
    if not re.fullmatch(r"[0-9]+\n", text):
        raise Wrong(f"{path}: {text!r}")
    return int(text)


def check_streams(paths):
    """Each stream in a thread of its own: a FIFO must be read while it is written."""
    results = [Sums() for _ in paths]
    faults = []

    def work(path, sums):
        try:
            check_stream(path, sums)
        except (Wrong, OSError) as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(paths, results)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    return results


def add_up(results):
    total = Sums()
    for sums in results:
        for name in ("events", "allocations", "frees", "requested", "allocated", "pages"):
            setattr(total, name, getattr(total, name) + getattr(sums, name))
        total.sequences.extend(sums.sequences)
    return total


def main():
    folder = sys.argv[1]
    names = sorted(name for name in os.listdir(folder) if re.fullmatch(r"cpu[0-9]+(\.out)?", name))
    if not names:
        raise Wrong(f"{folder} has no streams")
    for name in names:
        if os.stat(os.path.join(folder, name)).st_mode & 0o7777 != 0o400:
            raise Wrong(f"{name}: its mode is not 0400")
    total = add_up(check_streams([os.path.join(folder, name) for name in names]))
    if read_text(folder, "abi_version") != 1:
        raise Wrong("abi_version is not 1")
    missing, overruns = missing_of(total.sequences), read_text(folder, "total_overruns")
    if missing * CORE.size > overruns:
        raise Wrong(f"{missing} events are missing, but total_overruns is {overruns}")
    answer = {
        "streams": len(names),
        "events": total.events,
        "missing": missing,
        "overruns": overruns,
        "allocations": total.allocations,
        "frees": total.frees,
        "pages": total.pages,
        "requested_bytes": total.requested,
        "allocated_bytes": total.allocated,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    try:
        main()
    except Wrong as fault:
        sys.exit(f"kmemtrace_check.py: {fault}")
