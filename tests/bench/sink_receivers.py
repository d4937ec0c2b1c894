#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
sink_receivers.py KIND PORT_FILE: a receiver of OpenTelemetry's profiles on loopback that is

    healthy  takes everything
    dead     is not there: its port is one that refuses
    slow     reads and writes a byte a second
    lying    answers each request in another wrong way: a rubbish body, one of 1 TB, one without an end, headers
             without an end, a status that does not exist, 503 with a Retry-After of 0
"""
import itertools, os, socket, sys, threading, time

kind, port_file = sys.argv[1:]
RUBBISH = os.urandom(64 << 10)
LIES = itertools.cycle([
    (b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 65536\r\n\r\n", RUBBISH, 1),
    (b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 1000000000000\r\n\r\n", RUBBISH, 16000),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + RUBBISH + b"\r\n", 16000),
    (b"HTTP/1.1 200 OK\r\n", b"X-Rubbish: yes\r\n" * 4096, 16000),
    (b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n", b"", 0),
    (b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n", b"", 0),
])


def read_request(connection):
    """Returns whether there was one. Bodies tell their length."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(1 if kind == "slow" else 65536)
        if not more:
            return False
        data += more
        if kind == "slow":
            time.sleep(1)
    head, body = data.split(b"\r\n\r\n", 1)
    sizes = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    left = sum(sizes) - len(body)
    while left > 0:
        more = connection.recv(65536)
        if not more:
            return False
        left -= len(more)
    return True


def answer(connection):
    if kind == "healthy":
        return connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    head, body, times = next(LIES)
    connection.sendall(head)
    for _ in range(times):
        connection.sendall(body)


def serve(connection):
    try:
        with connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096 if kind == "slow" else 1 << 20)
            while read_request(connection):
                answer(connection)
    except OSError:
        pass


server = socket.socket()
server.bind(("127.0.0.1", 0))
if kind != "dead":
    server.listen(64)
with open(port_file + ".new", "w") as file:
    file.write(str(server.getsockname()[1]))
os.rename(port_file + ".new", port_file)
while kind == "dead":
    time.sleep(3600)
while True:
    threading.Thread(target=serve, args=server.accept()[:1], daemon=True).start()
