#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ClickHouse's HTTP interface in front of the engine as a library (PyPI: chdb-core): chdb_server.py PORT FOLDER

The engine is a new one, and its parser reads what is inserted. It has no cluster, no users and no memory of a
connection; queries run one after another.
"""
import gzip
import http.server
import os
import sys
import tempfile
import threading
import urllib.parse

from chdb import session

port, folder = int(sys.argv[1]), sys.argv[2]
engine = session.Session(folder + "/data")
lock = threading.Lock()


def run(query, body):
    """A query, maybe with rows in the format that it names at its end. Returns lines of text."""
    if not query.upper().startswith("INSERT") or not body:
        return engine.query(query + body.decode(), "TabSeparated")
    head, form = query.rsplit(" FORMAT ", 1)
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(body)
        file.flush()
        return engine.query(f"{head} FROM INFILE '{file.name}' COMPRESSION 'none' FORMAT {form}", "TabSeparated")


def run_with_table(query, body, kind, parameters):
    """A query over a table that comes with it, as the only part of a form."""
    boundary = kind.split("boundary=")[1].encode()
    rows = body.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n--" + boundary + b"--\r\n")
    (name, structure), = [(key.removesuffix("_structure"), value) for key, value in parameters.items()
                          if key.endswith("_structure")]
    engine.query(f"CREATE TABLE {name} ({structure}) ENGINE = Memory")
    try:
        run(f"INSERT INTO {name} FORMAT {parameters[name + '_format']}", rows)
        return run(query, b"")
    finally:
        engine.query(f"DROP TABLE {name}")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.do_POST()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parameters = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        try:
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            with lock:
                kind = self.headers.get("Content-Type") or ""
                if kind.startswith("multipart/form-data"):
                    result = run_with_table(parameters["query"], body, kind, parameters)
                else:
                    result = run(parameters.get("query", ""), body)
                answer = result.bytes() if result is not None and hasattr(result, "bytes") else b""
            self.answer(200, answer)
        except Exception as error:
            self.answer(500, f"{error}\n".encode())


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
