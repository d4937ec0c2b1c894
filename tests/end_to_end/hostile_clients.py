#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hostile clients: hostile_clients.py SOCKET SECONDS USER silent COUNT | slow | garbage

silent: COUNT connections that send nothing, each reopened when it is closed. slow: a client that
requests a large answer and reads a byte a second. garbage: invalid requests, one after the other.
USER is the uid of the clients, which are members of the socket's group. Prints the results as a line of
NAME=NUMBER."""

import os
import random
import select
import socket
import sys
import time
from collections import Counter


def connect(path):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(5)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        return None
    return connection


def silent(path, end, count):
    done = Counter()
    connections = {}
    while time.monotonic() < end:
        while len(connections) < count:
            connection = connect(path)
            if not connection:
                break
            connections[connection.fileno()] = connection
            done["connections"] += 1
        ready, _, _ = select.select(list(connections), [], [], 0.5)
        for fd in ready:
            try:
                data = connections[fd].recv(4096)
            except OSError:
                data = b""
            if not data:
                connections.pop(fd).close()
                done["closed"] += 1
        if ready:
            time.sleep(0.1)
    done["open"] = len(connections)
    return done


def slow(path, end):
    done = Counter()
    while time.monotonic() < end:
        connection = connect(path)
        if not connection:
            time.sleep(0.2)
            continue
        done["connections"] += 1
        # Larger than a socket's buffer, so that the service must wait for its reader.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        try:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 8)
            while time.monotonic() < end:
                if not connection.recv(1):
                    break
                done["bytes"] += 1
                time.sleep(1)
        except OSError:
            done["errors"] += 1
        connection.close()
    return done


def request(kind, source):
    if kind == "bytes":
        return source.randbytes(source.randrange(1, 20000))
    if kind == "head":
        return b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-A: " + b"a" * 100000 + b"\r\n\r\n"
    if kind == "fields":
        return b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A:b\r\n" * 20000 + b"\r\n"
    if kind == "target":
        return b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    if kind == "percent":
        text = bytes(source.choice(b"%0fF&=zZ+\xff/") for _ in range(source.randrange(1, 200)))
        return b"GET /api/v1/profile?last=1s&comm=" + text + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    if kind == "body":
        return b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n"
    if kind == "chunks":
        return (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"ffffffffffffffff\r\n" + b"x" * 1000)
    return b"GET /debug/pprof/profile?seconds=0x1e HTTP/1.1\r\nHost: x\r\n\r\n"


KINDS = ("bytes", "head", "fields", "target", "percent", "body", "chunks", "number")


def garbage(path, end):
    done = Counter()
    source = random.Random(1)
    while time.monotonic() < end:
        connection = connect(path)
        if not connection:
            time.sleep(0.1)
            continue
        done["requests"] += 1
        connection.settimeout(2)
        answer = b""
        try:
            connection.sendall(request(KINDS[done["requests"] % len(KINDS)], source))
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        try:
            answer = connection.recv(4096)
        except OSError:
            pass
        connection.close()
        if answer.startswith(b"HTTP/1."):
            done["status_" + answer[9:12].decode("ascii", "replace")] += 1
        else:
            done["closed"] += 1
    return done


def main():
    path, seconds, user, what = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    end = time.monotonic() + seconds
    os.setgroups([])
    os.setgid(os.stat(path).st_gid)
    os.setuid(user)
    if what == "silent":
        done = silent(path, end, int(sys.argv[5]))
    else:
        done = {"slow": slow, "garbage": garbage}[what](path, end)
    print(" ".join(f"{name}={number}" for name, number in sorted(done.items())))
    sys.stdout.flush()
    os._exit(0)


main()
