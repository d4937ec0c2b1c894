# SPDX-License-Identifier: GPL-2.0-or-later
"""Receives the profiles that OpenTelemetry's profiler sends by gRPC, and writes the stacks of a process to a file.

	otel_receiver.py PID FILE

Prints its port, serves one connection until it ends, and writes a line "root;...;leaf count" for each stack; to stderr,
how many samples it got. It speaks as much of HTTP/2 as gRPC's client of Go needs: each request is an export, and
the answer to each is the same.
"""
import gzip
import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "harness"))
from protobuf import fields, numbers  # noqa: E402

DATA, HEADERS, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 4, 6, 8
ACK = END_STREAM = 1
END_HEADERS = 4
WINDOW = 1 << 30


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def header(name, value):
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


def answer(stream):
    status_200 = b"\x88"
    start = status_200 + header(b"content-type", b"application/grpc")
    return (frame(HEADERS, END_HEADERS, stream, start) + frame(DATA, 0, stream, bytes(5)) +
            frame(HEADERS, END_HEADERS | END_STREAM, stream, header(b"grpc-status", b"0")))


def message(body):
    """The message of a gRPC request: a byte that says whether it is compressed, its length, the message."""
    return gzip.decompress(body[5:]) if body[0] else body[5:]


def children(data, number):
    return [value for field, value in fields(data) if field == number]


def number_of(data, number):
    return next((value for field, value in fields(data) if field == number), 0)


def names_of_locations(dictionary):
    strings = [text.decode(errors="replace") for text in children(dictionary, 5)]
    functions = [strings[number_of(function, 1)] for function in children(dictionary, 3)]
    return [";".join(functions[number_of(line, 1)] for line in reversed(children(location, 3))) or "-"
            for location in children(dictionary, 2)]


def process_of(resource_profiles):
    for resource in children(resource_profiles, 1):
        for attribute in children(resource, 1):
            if children(attribute, 1) == [b"process.pid"]:
                return number_of(children(attribute, 2)[0], 3)
    return 0


def add_request(request, pid, counts):
    dictionary = children(request, 2)[0]
    locations = names_of_locations(dictionary)
    stacks = [[locations[at] for packed in children(stack, 1) for at in numbers(packed)]
              for stack in children(dictionary, 7)]
    for profiles in children(request, 1):
        is_wanted = process_of(profiles) == pid
        for scope in children(profiles, 2):
            for profile in children(scope, 2):
                for sample in children(profile, 2):
                    stack = ";".join(reversed(stacks[number_of(sample, 1)])) if is_wanted else None
                    # Each timestamp is a sample.
                    counts[stack] = counts.get(stack, 0) + sum(map(len, children(sample, 5))) // 8


def serve(connection, pid, counts):
    stream_of = connection.makefile("rb")
    stream_of.read(24)  # the client's preface
    connection.sendall(frame(SETTINGS, 0, 0, struct.pack(">HIHI", 4, WINDOW, 5, (1 << 24) - 1)) +
                       frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW)))
    bodies = {}
    while len(head := stream_of.read(9)) == 9:
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        payload = stream_of.read(int.from_bytes(head[:3], "big"))
        if kind in (SETTINGS, PING) and not flags & ACK:
            connection.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
        elif kind == DATA:
            bodies[stream] = bodies.get(stream, b"") + payload
            if payload:
                connection.sendall(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", len(payload))))
            if flags & END_STREAM:
                connection.sendall(answer(stream))
                add_request(message(bodies.pop(stream)), pid, counts)


def main():
    pid, path = int(sys.argv[1]), sys.argv[2]
    counts = {}
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        connection, _ = server.accept()
        with connection:
            try:
                serve(connection, pid, counts)
            except ConnectionResetError:
                pass
    others = counts.pop(None, 0)
    print(f"{sum(counts.values())} sent of it and {others} of others", file=sys.stderr)
    with open(path, "w") as output:
        output.writelines(f"{stack} {count}\n" for stack, count in counts.items())


main()
