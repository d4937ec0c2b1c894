# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the format RowBinary of ClickHouse, by the types of the columns: rows(bytes, ["UInt64", "Array(String)"])."""
import struct

import protobuf

FIXED = {"UInt8": "<B", "UInt16": "<H", "UInt32": "<I", "UInt64": "<Q", "Float64": "<d", "Date": "<H", "DateTime": "<I"}
RAW = {"FixedString(16)": 16, "FixedString(8)": 8}

# The columns of inserts, in their order.
TABLES = {
    "samples": {"ts": "DateTime", "duration_ns": "UInt64", "host": "String", "service": "String", "type": "String",
                "labels": "Array(String)", "stack": "UInt64", "value": "UInt64", "period": "UInt64",
                "weight": "Float64"},
    "stacks": {"day": "Date", "host": "String", "id": "UInt64", "locations": "Array(UInt64)"},
    "locations": {"day": "Date", "host": "String", "id": "UInt64", "build_id": "String", "vaddr": "UInt64",
                  "kind": "String", "path": "String"},
    "names": {"day": "Date", "host": "String", "build_id": "String", "vaddr": "UInt64", "rank": "UInt8",
              "functions": "Array(String)", "files": "Array(String)", "lines": "Array(UInt32)"},
}
TABLES["spans"] = TABLES["samples"] | {"trace_id": "FixedString(16)", "span_id": "FixedString(8)"}


def value(data, at, kind):
    if kind in FIXED:
        size = struct.calcsize(FIXED[kind])
        return struct.unpack_from(FIXED[kind], data, at)[0], at + size
    if kind in RAW:
        assert at + RAW[kind] <= len(data)
        return data[at:at + RAW[kind]].hex(), at + RAW[kind]
    count, at = protobuf.varint(data, at)
    if kind == "String":
        assert at + count <= len(data)
        return data[at:at + count].decode(), at + count
    items = []
    for _ in range(count):
        item, at = value(data, at, kind[len("Array("):-1])
        items.append(item)
    return items, at


def rows(data, table):
    """The rows of an insert into one of TABLES, as dictionaries."""
    at, found = 0, []
    while at < len(data):
        row = {}
        for name, kind in TABLES[table].items():
            row[name], at = value(data, at, kind)
        found.append(row)
    return found
