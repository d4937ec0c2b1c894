# SPDX-License-Identifier: GPL-2.0-or-later
"""
abuse_table.py watch LOG BROKER PID...   logs CPU times, metrics and answers until its standard input ends
abuse_table.py table LOG PHASES OUTPUT   judges each phase of PHASES; OUTPUT gets a file for each property

A phase is a line "BEGIN END PID,PID... NAME", in seconds of the day's clock, with the honest processes that started
with it; the first is without attacks. The other honest processes are those of the log. A phase is judged by the windows
that lie in it by more than half. OUTPUT/PROPERTY gets a line for each phase that lacks the property, and is empty if
all phases have it.
"""
import collections
import http.client
import json
import os
import re
import select
import socket
import sqlite3
import subprocess
import sys
import threading
import time

CPU_S = 0.2  # between two readings of CPU times
METRICS_S = 1
NAMED = 0.999  # of the share without attacks
NEWCOMERS_NAMED = 0.95  # the same, of processes that have just started, which have fewer samples
SAMPLED = 0.1  # deviation of samples from CPU time; a phase has few hundred honest samples
DEVIATIONS = 4  # of chance
LOST = 0.001  # of all samples
ANSWER_S = float(os.environ.get("ABUSE_ANSWER_SECONDS", "5"))
# The history may grow by this much more each second than without attacks.
HISTORY_BYTES = int(os.environ.get("ABUSE_HISTORY_BYTES", str(64 << 10)))
MEMORY = ["memory_bytes", "memory_engine_bytes", "memory_jit_bytes", "memory_profile_bytes", "memory_map_bytes", "memory_answer_bytes"]
# A new process runs the test's shell before it executes its program.
SHELL = re.compile(r"^\[(bash|setpriv)\+0x[0-9a-f]+\]$")
UNNAMED = re.compile(r"^\[(jit: unknown|names over quota|unknown|no stack|truncated: .*|python: no name|.*\+0x[0-9a-f]*)\]$")
NAMELESS = 3  # frames without names and without an attack, at least, of a program that is left out
PROPERTIES = ["named", "newcomers", "all named", "all newcomers", "sampled", "lost", "rate", "engine", "accounts", "memory", "history", "answers"]


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(os.environ["PILOTLIGHT_SOCKET"])


def get(path):
    """Returns the seconds until the answer, and the answer; (infinite, '') if there is none."""
    begin = time.monotonic()
    try:
        connection = UnixConnection("localhost", timeout=30)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        connection.close()
        # 404: the history does not go back that far yet.
        if answer.status in (200, 404):
            return time.monotonic() - begin, text
    except OSError:
        pass
    except http.client.HTTPException:
        pass
    return float("inf"), ""


def read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def cpu_ns(pid):
    return int((read(f"/proc/{pid}/schedstat").split() or ["0"])[0])


def private_bytes(pid):
    kib = re.findall(r"^Private_(?:Clean|Dirty): +(\d+) kB", read(f"/proc/{pid}/smaps_rollup"), re.M)
    return 1024 * sum(map(int, kib))


def engine_of(broker):
    for pid in read(f"/proc/{broker}/task/{broker}/children").split():
        if read(f"/proc/{pid}/cmdline").split("\0")[1:2] == ["engine"]:
            return int(pid)
    return 0


class Dictionary:
    """The bytes that windows share, by the time they were written: most of the history."""

    def __init__(self):
        self.last, self.bytes = {}, 0

    def grown(self):
        for path in history_days():
            try:
                with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1) as day:
                    rows = day.execute(
                        "SELECT id, length(body) FROM dictionary WHERE id > ?", (self.last.get(path, 0),)
                    ).fetchall()
            except sqlite3.Error:
                continue
            self.last[path] = max([self.last.get(path, 0)] + [row[0] for row in rows])
            self.bytes += sum(row[1] for row in rows)
        return self.bytes


def history_days():
    history = os.path.join(os.environ["STATE_DIRECTORY"], "history")
    return sorted(os.path.join(history, name) for name in os.listdir(history) if name.endswith(".db"))


def metrics_record(broker, dictionary):
    answer_s, text = get("/metrics")
    values = {}
    for name, label, value in re.findall(r"^pilotlight_([a-z0-9_]+)(\{[^}]*\})? ([0-9.e+-]+)$", text, re.M):
        values[name] = values.get(name, 0) + float(value)
        if name == "samples_dropped_total":
            values[name + label] = float(value)
    engine = engine_of(broker)
    own = private_bytes(broker) + private_bytes(engine) + values.get("memory_map_bytes", 0)
    return {"time": time.time(), "answer_s": answer_s, "engine": engine,
        "own_bytes": own, "values": values,
        "dictionary": dictionary.grown()}


def watch(path, broker, pids):
    with open(path, "w", encoding="utf-8", buffering=1) as log:

        def ask(make):
            while True:
                log.write(json.dumps(make()) + "\n")
                time.sleep(METRICS_S)

        def query():
            # A query of the present would seal the open window early and so give it more room. So would a time
            # relative to now.
            now = time.time()
            answer_s, _ = get(f"/api/v1/profile?from=@{now - 30:.0f}&to=@{now - 15:.0f}&format=svg")
            return {"time": time.time(), "query_s": answer_s}

        dictionary = Dictionary()
        for make in (query, lambda: metrics_record(broker, dictionary)):
            threading.Thread(target=ask, args=(make,), daemon=True).start()
        while not select.select([sys.stdin], [], [], CPU_S)[0]:
            log.write(json.dumps({"time": time.time(), "cpu": {pid: cpu_ns(pid) for pid in pids}}) + "\n")


class Phase:
    def __init__(self, line):
        begin, end, newcomers, self.name = line.rstrip("\n").split(" ", 3)
        self.begin, self.end = float(begin), float(end)
        self.newcomers = newcomers.split(",")

    def has(self, record):
        return self.begin <= record["time"] <= self.end


class Table:
    def __init__(self, log, phases):
        with open(log, encoding="utf-8") as file:
            records = [json.loads(line) for line in file if line.endswith("}\n")]
        self.cpu = [record for record in records if "cpu" in record]
        self.metrics = [record for record in records if "values" in record]
        self.queries = [record for record in records if "query_s" in record]
        self.pids = list(self.cpu[0]["cpu"])
        self.windows = self.read_windows()
        with open(phases, encoding="utf-8") as file:
            phases = [Phase(line) for line in file]
        self.nameless = {"[" + os.path.basename(os.path.realpath("/usr/bin/python3")) + "+0x]"}
        usual = self.measure(phases[0])
        # Stripped programs, as a distribution's, lack names also without an attack.
        for name, count in [*usual.get("unnamed", {}).items(), *usual.get("new_unnamed", {}).items()]:
            if name.endswith("+0x]") and count >= NAMELESS:
                self.nameless.add(name)
        self.rows = [self.measure(phase) for phase in phases]

    @staticmethod
    def read_windows():
        windows = []
        for path in history_days():
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as day:
                windows += day.execute(
                    "SELECT start_ns / 1e9, end_ns / 1e9, period_ns / 1e9, body_bytes FROM windows WHERE level < 8"
                    " AND is_supplement = 0 ORDER BY start_ns"
                ).fetchall()
        return windows

    def cpu_at(self, when):
        """The CPU time of all honest processes, between the readings around that time."""
        before = [r for r in self.cpu if r["time"] <= when] or self.cpu[:1]
        after = [r for r in self.cpu if r["time"] > when] or self.cpu[-1:]
        before, after = before[-1], after[0]
        low, high = (sum(r["cpu"].values()) / 1e9 for r in (before, after))
        span = after["time"] - before["time"]
        return low + (high - low) * ((when - before["time"]) / span if span > 0 else 0)

    def count(self, pids, begin, end):
        """
        Counts the samples of the processes, their frames, and the frames without names by what they show. Leaves out
        frames that lack names also without an attack.
        """
        command = [os.environ["PILOTLIGHT"], "export", "-q", "-f", "folded", "-o", "-"]
        command += ["--from", f"@{begin + 0.01:.3f}", "--to", f"@{end - 0.01:.3f}"]
        for pid in pids:
            command += ["--pid", pid]
        text = subprocess.run(command, capture_output=True, check=False).stdout.decode()
        samples = frames = 0
        unnamed = collections.Counter()
        for line in text.splitlines():
            stack, count = line.rsplit(" ", 1)
            names = stack.split(";")[1:]
            # Losses are an estimate, which each selection shows.
            if line.startswith(("[lost: ", "bash;", "setpriv;")) or any(map(SHELL.match, names)):
                continue
            samples += int(count)
            names = [re.sub(r"\+0x[0-9a-f]+\]$", "+0x]", name) for name in names]
            names = [name for name in names if name not in self.nameless]
            frames += int(count) * len(names)
            for name in filter(UNNAMED.match, names):
                unnamed[name] += int(count)
        return samples, frames, unnamed

    def measure(self, phase):
        row = {"name": phase.name, "seconds": phase.end - phase.begin}
        inside = [
            w for w in self.windows if min(w[1], phase.end) - max(w[0], phase.begin) > (w[1] - w[0]) / 2
        ]
        row["windows"] = len(inside)
        if inside:
            begin, end = inside[0][0], inside[-1][1]
            samples, frames, unnamed = self.count(self.pids, begin, end)
            new_samples, new_frames, new_unnamed = self.count(phase.newcomers, begin, end)
            row.update(new_samples=new_samples, new_named=1 - new_unnamed.total() / max(new_frames, 1))
            row.update(frames=[frames, unnamed.total()], new_frames=[new_frames, new_unnamed.total()])
            row.update(unnamed=dict(unnamed), new_unnamed=dict(new_unnamed))
            cpu_s = self.cpu_at(end) - self.cpu_at(begin)
            row.update(samples=samples, named=1 - unnamed.total() / max(frames, 1))
            row["sampled"] = samples * inside[0][2] / cpu_s if cpu_s > 0 else 0
            row["bodies"] = sum(w[3] for w in inside) / (end - begin)
        before = [m for m in self.metrics if m["values"] and m["time"] <= phase.begin][-1:]
        during = before + [m for m in self.metrics if phase.has(m)]
        answered = [m["values"] for m in during if m["values"]]
        row["engines"] = sorted({m["engine"] for m in during})
        row["answer_s"] = max(
            [m["answer_s"] for m in during] + [q["query_s"] for q in self.queries if phase.has(q)] + [0]
        )
        if len(answered) > 1:
            self.measure_metrics(row, during, answered)
        return row

    @staticmethod
    def measure_metrics(row, during, answered):
        def grown(name):
            return answered[-1].get(name, 0) - answered[0].get(name, 0)

        fired = grown("samples_fired_total")
        cost_s = grown("bpf_cpu_seconds_total") + grown("engine_cpu_seconds_total") + grown("broker_cpu_seconds_total")
        row["lost"] = grown("samples_lost_total") / fired if fired else 0
        reasons = {re.sub('.*="|".*', "", n): grown(n) for n in answered[-1] if n.startswith("samples_dropped_total{")}
        row["reasons"] = ", ".join(f"{n} {c:.0f}" for n, c in reasons.items() if c and n not in ("idle", "filtered"))
        row["rate"] = min(v["sampling_rate_hertz"] for v in answered)
        for part in MEMORY:
            row[part] = max(v[part] for v in answered)
        # An answer is large if it names all that an attacker made up. It is there until its client has read it.
        kept = [v["memory_bytes"] - v["memory_answer_bytes"] for v in answered]
        row["memory"] = max(kept + [m["own_bytes"] for m in during])
        row["memory_max"] = answered[-1]["memory_max_bytes"]
        row["cost_us"] = 1e6 * cost_s / fired if fired else 0
        row["starts"] = answered[-1]["engine_starts_total"]
        span = during[-1]["time"] - during[0]["time"]
        row["history"] = row.get("bodies", 0) + (during[-1]["dictionary"] - during[0]["dictionary"]) / span
        row["is_closed"] = all(
            v["samples_fired_total"] == v["samples_stored_total"] + v["samples_dropped_total"] for v in answered
        )

    def faults(self, row):
        """Yields the properties that the phase lacks, with the numbers."""
        if not row.get("samples") or "rate" not in row:
            yield "answers", "nothing was measured"
        else:
            yield from self.sample_faults(row)
        if "rate" in row:
            yield from self.service_faults(row)
        if row["answer_s"] > ANSWER_S:
            yield "answers", f"an answer took {row['answer_s']:.1f} s"

    def sample_faults(self, row):
        usual = self.rows[0]
        if row["named"] < usual["named"] * NAMED:
            yield "named", f"{100 * row['named']:.2f} % of the frames have names, {100 * usual['named']:.2f} % usually: {row['unnamed']}"
        if row["new_samples"] == 0 or row["new_named"] < usual["new_named"] * NEWCOMERS_NAMED:
            yield "newcomers", (
                f"{100 * row['new_named']:.2f} % of the frames of new processes have names,"
                f" {100 * usual['new_named']:.2f} % usually: {row['new_samples']} samples, {row['new_unnamed']}"
            )
        if abs(row["sampled"] / usual["sampled"] - 1) > SAMPLED + DEVIATIONS / row["samples"] ** 0.5 / 4:
            yield "sampled", f"{row['sampled']:.2f} of the CPU time was sampled, {usual['sampled']:.2f} usually"

    def service_faults(self, row):
        usual = self.rows[0]
        if row["lost"] > usual["lost"] + LOST:
            yield "lost", f"{100 * row['lost']:.2f} % lost: {row['reasons']}"
        if row["rate"] < usual["rate"]:
            yield "rate", f"{row['rate']:.0f} Hz"
        if row["engines"] != usual["engines"] or row["starts"] > 1:
            yield "engine", f"engines {row['engines']}, started {row['starts']:.0f} times"
        if not row["is_closed"]:
            yield "accounts", "fired differs from stored and dropped"
        if row["memory"] > row["memory_max"]:
            parts = ", ".join(f"{part} {row[part] / 2**20:.1f}" for part in MEMORY)
            yield "memory", f"{row['memory'] / 2**20:.1f} of {row['memory_max'] / 2**20:.0f} MiB: {parts}"
        if row["history"] > usual["history"] + HISTORY_BYTES:
            yield "history", f"{row['history']:.0f} bytes a second, {usual['history']:.0f} usually"

    def steady_rows(self):
        """Yields the phases with attacks where no engine was renewed shortly before or after."""
        for i in range(1, len(self.rows)):
            if len({engine for near in self.rows[i - 1 : i + 2] for engine in near["engines"]}) == 1:
                yield self.rows[i]

    def faults_of_all(self):
        """
        The names in all phases with attacks together: a phase of a busy machine has too few samples to judge. An engine
        renews itself when it knows too many binaries, as after long phases, and reads all names again.
        """
        rows = list(self.steady_rows())
        for name, part, least in (("all named", "frames", NAMED), ("all newcomers", "new_frames", NEWCOMERS_NAMED)):
            frames, unnamed = (sum(row[part][i] for row in rows if part in row) for i in (0, 1))
            if unnamed > frames * (1 - least) or frames == 0:
                yield name, f"{unnamed} of {frames} frames have no name"

    def write(self, output):
        lacking = {name: "" for name in PROPERTIES}
        print(
            f"{'attack':<24} {'s':>5} {'rate':>4} {'honest':>6} {'named %':>7} {'new %':>6} {'of CPU':>6} {'lost %':>6} {'MiB':>5}"
            f" {'KiB/s':>6} {'us/smp':>6} {'answer':>6} verdict"
        )
        for row in self.rows:
            faults = list(self.faults(row))
            for name, numbers in faults:
                lacking[name] += f"{row['name']}: {numbers}\n"
            print(
                f"{row['name'][:24]:<24} {row['seconds']:>5.1f} {row.get('rate', 0):>4.0f} {row.get('samples', 0):>6}"
                f" {100 * row.get('named', 0):>7.2f} {100 * row.get('new_named', 0):>6.2f} {row.get('sampled', 0):>6.2f} {100 * row.get('lost', 1):>6.2f}"
                f" {row.get('memory', 0) / 2**20:>5.1f} {row.get('history', 0) / 1024:>6.1f} {row.get('cost_us', 0):>6.0f}"
                f" {row['answer_s']:>6.2f} {', '.join(name for name, _ in faults) or 'holds'}"
            )
        for name, numbers in self.faults_of_all():
            lacking[name] += f"{numbers}\n"
        if os.environ.get("ABUSE_LOG"):
            with open(os.path.join(os.environ["ABUSE_LOG"], "rows"), "w", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in self.rows)
        for name, text in lacking.items():
            with open(os.path.join(output, name), "w", encoding="utf-8") as file:
                file.write(text)


def main():
    if sys.argv[1] == "watch":
        watch(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
        os._exit(0)
    Table(sys.argv[2], sys.argv[3]).write(sys.argv[4])


if __name__ == "__main__":
    main()
