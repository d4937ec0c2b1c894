#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A receiver of profiles that fails as it is told: receiver.py FOLDER [CERTIFICATE KEY CLIENT_CA]

Listens on loopback and writes its port to FOLDER/port. FOLDER/mode says how it answers each request:

    ok            200
    partial       200, with a partial success that rejects 3 profiles
    429, 503      with Retry-After: 1
    400, 401      with a text
    version       400, as to an unknown version of the protocol
    400 once      400 to the first batch of this mode, whenever it comes; 200 to others
    413 once      413 to the first request of this mode, before its body has been read, and to all of its size;
                  200 to others
    reset         closes the connection in mid-body by a reset
    lost          takes the batch, and resets the connection in place of an answer
    slow          does not answer

and as ClickHouse, which takes inserts, equal ones of samples once:

    code N        500, with an exception of this number
    reset TABLE   closes the connection in the body of an insert into this table
    lost TABLE    takes an insert into this table, and resets the connection in place of an answer

For each request it adds a line of JSON to FOLDER/log.
"""
import base64
import gzip
import hashlib
import http.server
import json
import os
import re
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../harness")
import row_binary
from protobuf import fields

folder = sys.argv[1]
lock = threading.Lock()
inserted = []  # samples of ClickHouse
blocks = set()  # the hashes of their inserts
condemned = {}  # by mode, what it refuses: the hash of a batch, or its size


def all_of(message, number):
    return [value for field, value in fields(message) if field == number]


def attributes(resource):
    found = {}
    for pair in all_of(resource, 1):
        value = all_of(pair, 2)[0]
        found[all_of(pair, 1)[0].decode()] = all_of(value, 1)[0].decode()
    return found


def describe_otlp(body):
    """What the batch is about: its time, its ids and its resources."""
    ids, starts, ends, resources = [], [], [], []
    for resource_profiles in all_of(body, 1):
        resources.append(attributes(all_of(resource_profiles, 1)[0]))
        for scope in all_of(resource_profiles, 2):
            for profile in all_of(scope, 2):
                known = dict(fields(profile))
                ids.append(known[7].hex())
                starts.append(known[3])
                ends.append(known[3] + known.get(4, 0))
    return {"ids": ids, "start": min(starts), "end": max(ends), "resources": resources}


def describe_pprof(packed):
    """The types of a profile, and its time."""
    profile = gzip.decompress(packed)
    known = dict(fields(profile))
    strings = [text.decode() for text in all_of(profile, 6)]
    types = [[strings[number] for _, number in fields(kind)] for kind in all_of(profile, 1)]
    return types, known[9], known[9] + known.get(10, 0)


def describe_writeraw(body):
    """The same for Parca: series in JSON, with profiles of pprof."""
    request = json.loads(body)
    assert request.pop("normalized") is True and list(request) == ["series"], list(request)
    starts, ends, series = [], [], []
    for one in request["series"]:
        labels = {label["name"]: label["value"] for label in one["labels"]["labels"]}
        assert len(labels) == len(one["labels"]["labels"]), labels
        for sample in one["samples"]:
            types, start, end = describe_pprof(base64.b64decode(sample["rawProfile"], validate=True))
            starts.append(start)
            ends.append(end)
        series.append({"labels": labels, "types": types})
    return {"start": min(starts), "end": max(ends), "series": series}


def describe_push(body):
    """The same for Pyroscope: push.v1, with a profile of pprof in each sample."""
    ids, starts, ends, series = [], [], [], []
    for one in all_of(body, 1):
        labels = [tuple(text.decode() for _, text in fields(pair)) for pair in all_of(one, 1)]
        assert len(labels) == len(dict(labels)), labels
        types = []
        for sample in all_of(one, 2):
            types, start, end = describe_pprof(all_of(sample, 1)[0])
            ids.append(all_of(sample, 2)[0].decode())
            starts.append(start)
            ends.append(end)
        series.append({"labels": dict(labels), "types": types})
    return {"ids": ids, "start": min(starts), "end": max(ends), "series": series}


def describe_clickhouse(path, body):
    """The same for ClickHouse: a query in the path, and if it inserts, rows in the body."""
    parameters = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
    if parameters["query"][0].startswith("SELECT count() "):
        assert list(parameters) == ["query"] and body == b"", path
        return {"table": "", "query": parameters["query"][0]}
    words = parameters["query"][0].split(" ", 3)
    table = words[2].removeprefix("pilotlight.")
    columns = ", ".join(row_binary.TABLES[table])
    assert parameters["insert_distributed_sync"] == ["1"], path
    assert parameters["query"] == [f"INSERT INTO pilotlight.{table} ({columns}) FORMAT RowBinary"], parameters
    rows = row_binary.rows(body, table)
    if table == "names":
        rows = len(rows)
    return {"table": table, "rows": rows}


def count_rows(query):
    """Answers the only question that senders have."""
    given = {name: bytes.fromhex(text).decode()
             for name, text in re.findall(r"(type|service|host) = unhex\('(\w*)'\)", query)}
    given["duration_ns"] = int(re.search(r"duration_ns = (\d+)", query)[1])
    given["ts"] = int(re.search(r"ts = toDateTime\((\d+)\)", query)[1])
    label = bytes.fromhex(re.search(r"has\(labels, unhex\('(\w*)'\)\)", query)[1]).decode()
    with lock:
        return sum(all(row[name] == value for name, value in given.items()) and label in row["labels"]
                   for row in inserted)


def write_log(entry):
    with lock, open(folder + "/log", "a") as log:
        log.write(json.dumps(entry) + "\n")


def read_mode():
    with open(folder + "/mode") as file:
        return file.read().strip()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", kind="text/plain", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def refuse_unread(self, entry, size):
        """Answers before the body has been read. Closing with unread bytes would reset the connection."""
        write_log(entry | {"status": 413, "taken": False})
        self.close_connection = True
        self.answer(413, b"refused\n", Connection="close")
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_WR)
        self.rfile.read(size)

    def is_condemned(self, mode, value):
        with lock:
            return condemned.setdefault(mode, value) == value

    def do_POST(self):
        mode = read_mode()
        size = int(self.headers["Content-Length"])
        entry = {"mode": mode, "path": self.path, "status": 0,
                 "headers": {name.lower(): value for name, value in self.headers.items()}}
        if isinstance(self.connection, ssl.SSLSocket):
            subject = (self.connection.getpeercert() or {}).get("subject", ())
            entry["client"] = dict(pair for group in subject for pair in group).get("commonName")
        table = re.search(r"INTO%20pilotlight\.(\w*)", self.path)
        table = table[1] if table else ""
        if mode == "reset" or (table and mode == "reset " + table):
            self.rfile.read(min(size, 100))
            write_log(entry)
            return self.reset()
        if mode == "413 once" and self.is_condemned(mode, size):
            return self.refuse_unread(entry, size)
        body = self.rfile.read(size)
        entry["hash"] = hashlib.sha256(body).hexdigest()
        entry["bytes"] = len(body)
        if self.path == "/v1development/profiles":
            entry.update(describe_otlp(gzip.decompress(body)))
        elif self.path == "/push.v1.PusherService/Push":
            entry.update(describe_push(body))
        elif self.path == "/api/profiles/writeraw":
            entry.update(describe_writeraw(body))
        elif self.path.startswith("/?"):
            entry.update(describe_clickhouse(self.path, gzip.decompress(body)))
            return self.answer_as_clickhouse(mode, entry)
        self.answer_in(mode, entry)

    def answer_as_clickhouse(self, mode, entry):
        code = mode.removeprefix("code ") if mode.startswith("code ") else ""
        entry["taken"] = not code
        entry["status"] = 500 if code else 200
        if entry["taken"] and entry["table"] == "samples":
            # A sender whose time is over may ask, and send it again, before it is here.
            with lock:
                entry["taken"] = entry["hash"] not in blocks
                if entry["taken"]:
                    blocks.add(entry["hash"])
                    inserted.extend(entry["rows"])
        write_log(entry)
        if code:
            return self.answer(500, f"Code: {code}, e.displayText() = DB::Exception: as asked\n".encode())
        if mode == "lost " + entry["table"]:
            return self.reset()
        return self.answer(200, b"" if entry["table"] else b"%d\n" % count_rows(entry["query"]))

    def answer_in(self, mode, entry):
        status = {"429": 429, "503": 503, "400": 400, "401": 401, "version": 400}.get(mode, 200)
        if mode == "lost":
            status = 0
        if mode == "400 once" and self.is_condemned(mode, entry["hash"]):
            status = 400
        entry["status"] = status
        if mode == "slow":
            entry["status"] = 0
            write_log(entry)
            return time.sleep(60)
        # Before the answer, so that who has seen its effect finds the line.
        entry["taken"] = status == 200 or mode == "lost"
        write_log(entry)
        if mode == "lost":
            return self.reset()
        if mode == "version":
            return self.answer(400, b"\x08\x03\x12\x13unsupported version", "application/x-protobuf")
        if mode == "partial":
            return self.answer(200, b"\x0a\x0b\x08\x03\x12\x07too old", "application/x-protobuf")
        if status in (429, 503):
            return self.answer(status, b"busy\n", Retry_After="1")
        if status != 200:
            return self.answer(status, b"refused\n")
        return self.answer(200, b"", "application/x-protobuf")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


port = int(os.environ.get("RECEIVER_PORT") or 0)
server = Server(("127.0.0.1", port), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    context.load_verify_locations(sys.argv[4])
    context.verify_mode = ssl.CERT_OPTIONAL
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
with open(folder + "/port.new", "w") as file:
    file.write(str(server.server_port))
os.rename(folder + "/port.new", folder + "/port")
server.serve_forever()
