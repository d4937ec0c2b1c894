#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""spans.py PROFILE.pb.gz: what a profile says of the spans of tests/workloads/spans.c. Prints
`right N wrong N without N claimed N`: samples of in_first() and in_second() whose labels are those
of the function and the thread, others, those without labels, and those that have what the program
claims. What is claimed wrongly is wrong, too. Then up to five examples of others. Other programs,
which may have spans and claims of their own, are left out."""
import collections
import gzip
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from protobuf import fields, numbers  # noqa: E402

SPANS = {("swap", "in_first"): 0x11, ("swap", "in_second"): 0x12, ("write", "in_first"): 0x21,
         ("write", "in_second"): 0x22}
COMMS = ("swap", "write", "lie", "publish")
CLAIMS = ({"claimed_service": "spans", "claimed_namespace": "first"},
          {"claimed_service": "spans", "claimed_namespace": "the second"})


def read(path):
    """(functions, count, labels) of each sample."""
    strings, functions, lines, samples = [], {}, collections.defaultdict(list), []
    for number, value in fields(gzip.open(path).read()):
        if number == 2:
            samples.append(list(fields(value)))
        elif number == 4:
            location = list(fields(value))
            lines[dict(location)[1]] = [dict(fields(line))[1] for n, line in location if n == 4]
        elif number == 5:
            function = dict(fields(value))
            functions[function[1]] = function.get(2, 0)
        elif number == 6:
            strings.append(value.decode())
    for sample in samples:
        stack = [strings[functions[f]] for n, v in sample if n == 1 for i in numbers(v) for f in lines[i]]
        count = [numbers(v)[0] for n, v in sample if n == 2][0]
        labels = [dict(fields(v)) for n, v in sample if n == 3]
        yield stack, count, {strings[label[1]]: strings[label.get(2, 0)] for label in labels}


def main():
    counts, wrong = collections.Counter(), collections.Counter()
    for stack, count, labels in read(sys.argv[1]):
        if labels.get("comm") not in COMMS:
            continue
        function = next((name for name in stack if name in ("in_first", "in_second")), None)
        claims = {key: value for key, value in labels.items() if key.startswith("claimed")}
        if claims in CLAIMS:
            counts["claimed"] += count
        elif claims:
            counts["wrong"] += count
            wrong[str(claims)] += count
        span = SPANS.get((labels.get("comm"), function))
        expected = {"trace_id": f"{span & 0xf0:02x}" * 16, "span_id": f"{span:02x}" * 8} if span else {}
        found = {key: labels[key] for key in ("trace_id", "span_id") if key in labels}
        if function is None and not found:
            continue
        if not found:
            counts["without"] += count
        elif found == expected or (function is None and labels.get("comm") in ("swap", "write")):
            counts["right" if function else "between"] += count
        else:
            counts["wrong"] += count
            wrong[str((labels.get("comm"), function, found))] += count
    print("right", counts["right"], "wrong", counts["wrong"], "without", counts["without"],
          "claimed", counts["claimed"])
    for text, count in wrong.most_common(5):
        print(count, text)


main()
