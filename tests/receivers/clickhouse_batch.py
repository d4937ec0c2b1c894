#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Batches for ClickHouse (pilotlight/clickhouse_batch.h), read and sent without Pilotlight's code:

    clickhouse_batch.py send URL FILE         inserts a batch, without asking whether it is there
    clickhouse_batch.py cut URL FILE          the same, but breaks the connection in mid-insert of the samples
    clickhouse_batch.py count URL FILE        how often the first row of its samples is there
    clickhouse_batch.py sum FILE...           "rows stacks value" of the samples of all
    clickhouse_batch.py folded FILE...        the stacks of all, with their sums
    clickhouse_batch.py trace ID FILE...      the same of what was sampled in this trace
"""
import collections
import gzip
import os
import socket
import struct
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../harness")
import row_binary


def requests(path):
    """Yields the table, "" of the identity, and the body of each request; all others are compressed."""
    with open(path, "rb") as file:
        data = file.read()
    magic, version, _ = struct.unpack_from("<8sII", data)
    assert magic == b"PLCHOUSE" and version == 4
    at = 16
    for table in "", "names", "locations", "stacks", "spans", "samples":
        body_bytes, = struct.unpack_from("<Q", data, at)
        at += 8
        yield table, data[at:at + body_bytes]
        at += body_bytes
    assert at == len(data)


def target(url, table):
    query = f"INSERT INTO pilotlight.{table} ({', '.join(row_binary.TABLES[table])}) FORMAT RowBinary"
    return f"{url}/?{urllib.parse.urlencode({'insert_distributed_sync': 1, 'query': query})}"


def question(identity):
    duration_ns, ts = struct.unpack_from("<QI", identity)
    kind, service, host, label = ("'%s'" % text.decode() for text in identity[16:-1].split(b"\0"))
    return (f"SELECT count() FROM pilotlight.samples WHERE type = {kind} AND service = {service} AND host = {host} "
            f"AND ts = toDateTime({ts}) AND duration_ns = {duration_ns} AND ({label} = '' OR has(labels, {label}))")


def post(target, body):
    request = urllib.request.Request(target, body, {"Content-Encoding": "gzip"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        sys.exit(f"{error.code}: {error.read().decode()[:300]}")


def send(url, path):
    for table, body in list(requests(path))[1:]:
        if body:
            post(target(url, table), body)


def cut(url, path):
    """All inserts but half of the last, whose server sees the connection end."""
    inserts = list(requests(path))[1:]
    for table, body in inserts[:-1]:
        if body:
            post(target(url, table), body)
    table, body = inserts[-1]
    parts = urllib.parse.urlsplit(target(url, table))
    with socket.create_connection((parts.hostname, parts.port)) as connection:
        connection.sendall(f"POST {parts.path}?{parts.query} HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:len(body) // 2])


def tables(paths):
    """All rows of some batches, by table."""
    found = collections.defaultdict(list)
    for path in paths:
        for table, body in list(requests(path))[1:]:
            found[table] += row_binary.rows(gzip.decompress(body), table) if body else []
    return found


def total(paths):
    samples = tables(paths)["samples"]
    print(len(samples), len({row["stack"] for row in samples}), sum(row["value"] for row in samples))


def folded(paths, trace=None):
    """By the identities alone: "comm;root;...;leaf COUNT", with the code in place of names that are missing."""
    found, sums = tables(paths), collections.Counter()
    stacks = {row["id"]: row["locations"] for row in found["stacks"]}
    locations = {row["id"]: (row["build_id"], row["vaddr"]) for row in found["locations"]}
    names = {(row["build_id"], row["vaddr"]): row["functions"] for row in found["names"]}
    for row in found["spans"] if trace else found["samples"]:
        if trace and row["trace_id"] != trace:
            continue
        comm = [label.removeprefix("comm=") for label in row["labels"] if label.startswith("comm=")]
        frames = [name for place in stacks[row["stack"]]
                  for name in names.get(locations[place], ["%s+%x" % locations[place]])]
        sums[";".join(comm + frames[::-1])] += row["value"]
    for stack, count in sorted(sums.items()):
        print(stack, count)


command, *arguments = sys.argv[1:]
if command == "send":
    send(*arguments)
elif command == "cut":
    cut(*arguments)
elif command == "count":
    _, identity = next(requests(arguments[1]))
    print(post(arguments[0] + "/", gzip.compress(question(identity).encode())).strip())
elif command == "sum":
    total(arguments)
elif command == "folded":
    folded(arguments)
elif command == "trace":
    folded(arguments[1:], arguments[0])
