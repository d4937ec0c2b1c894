#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks PHP-FPM at a UNIX socket to run a script, again and again: fastcgi.py SOCKET SCRIPT"""
import socket
import struct
import sys

BEGIN, PARAMETERS, INPUT = 1, 4, 5


def record(kind, content):
    return struct.pack(">BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def pair(name, value):
    return bytes([len(name), len(value)]) + name + value


path, script = sys.argv[1], sys.argv[2].encode()
parameters = pair(b"REQUEST_METHOD", b"GET") + pair(b"SCRIPT_FILENAME", script)
request = (record(BEGIN, struct.pack(">HB5x", 1, 0)) + record(PARAMETERS, parameters) + record(PARAMETERS, b"") +
           record(INPUT, b""))
while True:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(request)
        while connection.recv(65536):
            pass
