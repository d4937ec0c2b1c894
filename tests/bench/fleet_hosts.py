#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
fleet_hosts.py BATCH HOSTS MINUTES ROWS START URL...

Simulates hosts that push to ClickHouse. BATCH is what a real host pushed (pilotlight/clickhouse_batch.h). Each host
has ROWS of its rows of samples, with the stacks, locations and names that belong to them, and pushes these once for
each minute from START on (seconds since 1970), with its own name and time, and without a twentieth of them, others each
time, and with other counts, since no two batches of a host are alike. As a sender does, it leaves out names, locations
and stacks that it has sent; the minutes are of one day. Hosts take the servers in turn. Prints what was sent and how
long it took.
"""
import gzip, http.client, multiprocessing, os, random, struct, sys, time, urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../harness")
import protobuf, row_binary

HEADER, REQUEST = struct.Struct("<QIi"), struct.Struct("<Q")


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


class Rows:
    """Splits a body into rows, each as the bytes before and behind its host."""

    def __init__(self, data, fixed, skips):
        self.data, self.at, self.rows = data, 0, []
        while self.at < len(data):
            self.at += fixed
            self.text()
            start = self.at
            for skip in skips:
                skip(self)
            self.rows.append(data[start : self.at])

    def length(self):
        value, self.at = protobuf.varint(self.data, self.at)
        return value

    def text(self):
        size = self.length()
        self.at += size

    def texts(self):
        for _ in range(self.length()):
            self.text()

    def bytes_of(size):
        def skip(rows):
            rows.at += size

        return skip

    def array_of(size):
        def skip(rows):
            count = rows.length()
            rows.at += count * size

        return skip


TABLES = {
    "names": (2, [Rows.text, Rows.bytes_of(9), Rows.texts, Rows.texts, Rows.array_of(4)]),
    "locations": (2, [Rows.bytes_of(8), Rows.text, Rows.bytes_of(8), Rows.text, Rows.text]),
    "stacks": (2, [Rows.bytes_of(8), Rows.array_of(8)]),
    "samples": (12, [Rows.text, Rows.text, Rows.texts, Rows.bytes_of(32)]),
}


def read_batch(path):
    """Returns the query and the rows of each table, in the batch's order."""
    data, at, tables = open(path, "rb").read(), HEADER.size, []
    for name in "identity", "names", "locations", "stacks", "spans", "samples":
        (body_size,) = REQUEST.unpack_from(data, at)
        at += REQUEST.size
        body, at = data[at : at + body_size], at + body_size
        if body and name in TABLES:
            body = gzip.decompress(body)
            query = f"INSERT INTO pilotlight.{name} ({', '.join(row_binary.TABLES[name])}) FORMAT RowBinary"
            tables.append((name, query, body[4:12], Rows(body, *TABLES[name]).rows))
    return tables


def choose(tables, count, rng):
    """Some rows of samples, and what they refer to."""
    rows = {table: rows for table, _, _, rows in tables}
    samples = rng.sample(rows["samples"], min(count, len(rows["samples"])))
    wanted = {row[-32:-24] for row in samples}
    stacks = [row for row in rows["stacks"] if row[:8] in wanted]
    wanted = {row[at : at + 8] for row in stacks for at in range(len(row) % 8 + 8, len(row), 8)}
    locations = [row for row in rows["locations"] if row[:8] in wanted]
    wanted = {row[8 : 17 + row[8]] for row in locations}
    names = [row for row in rows["names"] if row[: 9 + row[0]] in wanted]
    kept = {"samples": samples, "stacks": stacks, "locations": locations, "names": names}
    return [(table, query, duration, kept[table]) for table, query, duration, _ in tables]


def with_count(row, rng):
    """A row of samples with another count, on average as high."""
    (count,) = struct.unpack("<Q", row[-24:-16])
    return row[:-24] + struct.pack("<Q", rng.randint(1, max(1, 2 * count - 1))) + row[-16:]


def push(connection, tables, host, start, known):
    """Sends one batch. Returns rows of samples and bytes sent."""
    rng = random.Random(f"{host} {start}")
    name = varint(len(host)) + host.encode()
    sent = rows_sent = 0
    for table, query, duration, rows in tables:
        if table == "samples":
            head = struct.pack("<I", start) + duration + name
            kept = [with_count(row, rng) for row in rows if rng.random() < 0.95]
        else:
            head = struct.pack("<H", start // 86400) + name
            kept = [row for row in rows if row not in known]
            known.update(kept)
        if not kept:
            continue
        body = gzip.compress(b"".join(head + row for row in kept), 1)
        connection.request(
            "POST",
            "/?insert_distributed_sync=1&query=" + urllib.parse.quote(query),
            body,
            {"Content-Encoding": "gzip"},
        )
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{table}: {answer.status} {text.decode(errors='replace')[:300]}")
        sent += len(body)
        if table == "samples":
            rows_sent += len(kept)
    return rows_sent, sent


def push_to(server):
    """Sends the batches of each host of one server. Returns rows of samples, batches, and bytes of the first minute and
    of all."""
    known = [set() for _ in range(hosts)]
    connection = http.client.HTTPConnection(urls[server].hostname, urls[server].port, timeout=300)
    rows = sent = batches = first = 0
    for minute in range(minutes):
        for host in range(server, hosts, len(urls)):
            more = push(connection, own[host], f"host-{host:05}", start + 60 * minute, known[host])
            rows, sent, batches = rows + more[0], sent + more[1], batches + 1
        first = first or sent
    return rows, batches, first, sent


hosts, minutes, count, start = map(int, sys.argv[2:6])
urls = [urllib.parse.urlparse(url) for url in sys.argv[6:]]
tables = read_batch(sys.argv[1])
own = [choose(tables, count, random.Random(host)) for host in range(hosts)]
began = time.monotonic()
with multiprocessing.get_context("fork").Pool(len(urls)) as pool:
    results = pool.map(push_to, range(len(urls)))
seconds = time.monotonic() - began
rows, batches, first, sent = (sum(result[i] for result in results) for i in range(4))
print(f"batches {batches} rows {rows} first {first} bytes {sent} seconds {seconds:.1f}")
