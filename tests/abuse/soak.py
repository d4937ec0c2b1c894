# SPDX-License-Identifier: GPL-2.0-or-later
"""
soak.py churn                      starts and ends what the service follows, and asks it, until SIGTERM
soak.py watch LOG MAIN SECONDS     logs what the service holds every SECONDS, until it is killed
soak.py table LOG OUTPUT           compares the first third of the log with the last

MAIN is a file with the PID of the service's main process, which may be another one each time. OUTPUT gets a file for
each property: a line for each value that lacks it; it is empty if all have it.
"""
import _ctypes
import collections
import ctypes
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

from abuse_table import get, read

FOLDERS = {"state": "STATE_DIRECTORY", "cache": "CACHE_DIRECTORY", "run": "RUNTIME_DIRECTORY"}
MIB = 1 << 20

# --- churn -------------------------------------------------------------------------------------

BUILD_ID_NOTE = bytes.fromhex("04000000 14000000 03000000 474e5500")  # of 20 bytes
STEP_S = 0.3  # after each step
PYTHON = "sum(i * i for i in range(2000000))"
NODE = (
    "const end = Date.now() + 1000;"
    "const all = []; for (let i = 0; i < 50; i++) all.push(new Function('n',"
    " `return (function soak_${i}(n) { let s = ${i}; for (let j = 0; j < n; j++) s = (s * 31 + j) % 1000003;"
    " return s; })(n)`)); while (Date.now() < end) for (const one of all) one(10000);"
)
JIT_MODES = ["reuse", "steady", "move", "nested", "torn", "fork-private", "fork-shared", "stale"]


def copy_binary(source, target):
    """Copies an ELF file and gives the copy a build-id of its own."""
    with open(source, "rb") as file:
        content = bytearray(file.read())
    at = content.find(BUILD_ID_NOTE)
    if at >= 0:
        at += len(BUILD_ID_NOTE)
        content[at : at + 20] = os.urandom(20)
    with open(target, "wb") as file:
        file.write(content)
    os.chmod(target, 0o755)


class Churn:
    def __init__(self):
        self.folder = os.path.join(os.environ["SOAK_FOLDER"], "churn")
        os.makedirs(self.folder)
        os.chdir(self.folder)
        self.workloads = os.environ["WORKLOADS"]
        self.round = 0

    def run(self, *command, **options):
        """Runs it to its end, and removes the perf map that it leaves in /tmp."""
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder} | options
        try:
            with subprocess.Popen(command, **options) as process:
                try:
                    process.wait(timeout=60)
                finally:
                    process.kill()
        except (OSError, subprocess.TimeoutExpired):
            return
        for left in (f"/tmp/perf-{process.pid}.map", f"{self.folder}/jit-{process.pid}.dump"):
            if os.path.exists(left):
                os.unlink(left)

    def execute(self):
        path = f"{self.folder}/program.{self.round}"
        copy_binary(f"{self.workloads}/fifty_ms", path)
        self.run(path, *(["unlink"] if self.round % 2 else []))
        if os.path.exists(path):
            os.unlink(path)

    def spawn(self):
        self.run(f"{self.workloads}/spawner", "40", "1", "5")

    def load(self):
        path = f"{self.folder}/library.{self.round}.so"
        copy_binary(os.environ["SOAK_LIBRARY"], path)
        library = ctypes.CDLL(path)
        os.unlink(path)
        bytes_ = b"x" * MIB
        for _ in range(100):
            library.crc32(0, bytes_, len(bytes_))
        _ctypes.dlclose(library._handle)

    def thread(self):
        self.run(f"{self.workloads}/threads", "0.5", "8")

    def write_jitdump(self):
        mode = JIT_MODES[self.round % len(JIT_MODES)]
        self.run(f"{self.workloads}/jit_writer", mode, "--seconds", "1", "--prefix", f"soak_{self.round}_")

    def write_perf_map(self):
        mode = ["steady", "reuse"][self.round % 2]
        self.run(f"{self.workloads}/jit_writer", mode, "--seconds", "1", "--output", "map", "--prefix", f"m{self.round}_")

    def run_node(self):
        self.run("node", "--perf-basic-prof", "-e", NODE)

    def run_python(self):
        # Python 3.12 and later write a perf map.
        self.run(sys.executable, *(["-X", "perf"] if sys.version_info >= (3, 12) else []), "-c", PYTHON)

    def run_java(self):
        if self.round % 4 == 0:
            self.run("java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-version")

    def use_cgroup(self):
        folder = os.path.join(os.environ["SOAK_CGROUPS"], f"pilotlight-soak-{self.round}.service")
        os.mkdir(folder)
        try:
            command = 'echo $$ >"$0/cgroup.procs" && exec "$1"'
            self.run("bash", "-c", command, folder, f"{self.workloads}/fifty_ms")
        finally:
            os.rmdir(folder)

    def query(self):
        pilotlight = os.environ["PILOTLIGHT"]
        output = f"{self.folder}/answer"
        queries = [
            ["flamegraph", "--last", "1min", "-o", f"{output}.svg"],
            ["report", "--last", "10min", "-o", f"{output}.txt"],
            ["export", "--last", "5min", "--comm", "jit*", "-o", f"{output}.pb.gz"],
            ["diff", "--last", "1min", "--against", "--last", "2min", "-o", f"{output}.svg"],
            ["status"],
            ["flamegraph", "--last", "20min", "--unit", "nothing.service", "-o", f"{output}.svg"],
        ]
        self.run(pilotlight, *queries[self.round % len(queries)])
        if self.round % 3 == 0:
            get("/debug/pprof/profile?seconds=1")
        if self.round % 3 == 1:
            get("/api/v1/profile?last=nonsense&format=svg")

    def go_on(self):
        steps = [
            self.execute, self.load, self.query, self.write_jitdump, self.spawn, self.execute, self.use_cgroup,
            self.write_perf_map, self.query, self.load, self.thread, self.run_node, self.execute, self.run_python,
            self.query, self.run_java,
        ]
        while True:
            for step in steps:
                try:
                    step()
                except OSError as error:
                    print(f"{step.__name__}: {error}", file=sys.stderr)
                time.sleep(STEP_S)
            self.round += 1


# --- what the service holds --------------------------------------------------------------------

READINGS = 5  # of descriptors; requests and transfers that are under way are in some of them only
READING_S = 0.4


def children_of(main):
    """Returns the PIDs of the main process's children, by role; an opener has its parent's command line."""
    roles = collections.defaultdict(list)
    own = read(f"/proc/{main}/cmdline")
    for pid in map(int, read(f"/proc/{main}/task/{main}/children").split()):
        command = read(f"/proc/{pid}/cmdline")
        if not command:
            roles["zombie" if ") Z " in read(f"/proc/{pid}/stat") else "starting"].append(pid)
        else:
            roles["opener" if command == own else command.split("\0")[1]].append(pid)
    return roles


def kind_of(target):
    """Files that an engine has open vary with the binaries that it waits for."""
    return "file" if target.startswith("/") else re.sub(r":\[\d+\]$", "", target)


def descriptors_of(pid):
    """Counts them by kind."""
    kinds = collections.Counter()
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                kinds[kind_of(os.readlink(f"/proc/{pid}/fd/{fd}"))] += 1
            except OSError:
                pass
    except OSError:
        pass
    return kinds


def bpf_objects(pids):
    """Returns the bytes of each BPF map, program and link that these processes have a descriptor of, by its id."""
    objects = {"map": {}, "prog": {}, "link": {}}
    for pid in pids:
        try:
            fds = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for fd in fds:
            text = read(f"/proc/{pid}/fdinfo/{fd}")
            found = re.search(r"^(map|prog|link)_id:\s+(\d+)$", text, re.M)
            if found:
                # A link's text has its program's id, too.
                kind = "link" if "link_id:" in text else found[1]
                identity = re.search(rf"^{kind}_id:\s+(\d+)$", text, re.M)[1]
                size = re.search(r"^memlock:\s+(\d+)$", text, re.M)
                objects[kind][identity] = int(size[1]) if size else 0
    return objects


def pss_bytes(pid):
    found = re.search(r"^Pss: +(\d+) kB", read(f"/proc/{pid}/smaps_rollup"), re.M)
    return int(found[1]) * 1024 if found else 0


def threads_of(pid):
    found = re.search(r"^Threads:\s+(\d+)", read(f"/proc/{pid}/status"), re.M)
    return int(found[1]) if found else 0


def folder_size(path):
    files = size = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                size += os.lstat(os.path.join(folder, name)).st_blocks * 512
                files += 1
            except OSError:
                pass
    return files, size


def metrics():
    _, text = get("/metrics")
    values = {}
    for name, value in re.findall(r"^pilotlight_([a-z0-9_]+)(?:\{[^}]*\})? ([0-9.e+-]+)$", text, re.M):
        values[name] = values.get(name, 0) + float(value)
    return values


def measure(main):
    roles = children_of(main)
    permanent = {"main": main}
    for role in ("engine", "opener"):
        if len(roles[role]) == 1:
            permanent[role] = roles[role][0]
    record = {"time": time.time(), "values": {}, "kinds": {}, "pids": permanent}
    values = record["values"]
    least = {}
    for _ in range(READINGS):
        for role, pid in permanent.items():
            kinds = descriptors_of(pid)
            if role not in least or kinds.total() < least[role].total():
                least[role] = kinds
        time.sleep(READING_S)
    for role, pid in permanent.items():
        files = least[role].pop("file", 0)
        values[f"{role} files"], values[f"{role} descriptors"] = files, least[role].total()
        values[f"{role} threads"] = threads_of(pid)
        values[f"{role} Pss"] = pss_bytes(pid)
        record["kinds"][role] = least[role]
    objects = bpf_objects(permanent.values())
    for kind, found in objects.items():
        values[f"BPF {kind}s"] = len(found)
    values["BPF map bytes"] = sum(objects["map"].values())
    values["perf events"] = least["main"].get("anon_inode:[perf_event]", 0)
    values["workers"] = len(roles["symbol-worker"])
    values["queries"] = len(roles["answer"])
    values["zombies"] = len(set(roles["zombie"]) & set(children_of(main)["zombie"]))
    for name, variable in FOLDERS.items():
        values[f"{name} files"], values[f"{name} bytes"] = folder_size(os.environ[variable])
    record["metrics"] = metrics()
    # Another one by now: nothing of this record fits together.
    is_whole = all(os.path.exists(f"/proc/{pid}/fd") and threads_of(pid) for pid in permanent.values())
    return record if is_whole and "engine" in permanent else None


def watch(path, main_file, seconds):
    with open(path, "w", encoding="utf-8", buffering=1) as log:
        while True:
            time.sleep(seconds)
            main = int(read(main_file) or 0)
            record = measure(main) if main else None
            if record:
                log.write(json.dumps(record) + "\n")


# --- the table ---------------------------------------------------------------------------------

EXACT = ["main files", "main descriptors", "main threads", "opener descriptors", "opener threads", "engine descriptors",
    "engine threads", "BPF maps", "BPF progs", "BPF links", "perf events", "zombies", "run files"]
MEMORY = ["main Pss", "opener Pss", "engine Pss", "BPF map bytes", "memory"]
# Memory may be this much more in the last third: the windows of a busy machine differ.
MEMORY_SHARE, MEMORY_BYTES = 1.1, MIB
LIMITS = [("memory", "memory_bytes", "memory_max_bytes"), ("history", "history_bytes", "history_max_bytes"),
    ("cache", "symbol_cache_bytes", "symbol_cache_max_bytes")]
PROPERTIES = ["descriptors", "memory", "limits", "accounts"]


def slope_an_hour(points):
    """Of the line through the points, by least squares."""
    if len(points) < 2 or points[0][0] == points[-1][0]:
        return 0
    return 3600 * statistics.linear_regression(*zip(*points)).slope


class Table:
    def __init__(self, log):
        with open(log, encoding="utf-8") as file:
            self.records = [json.loads(line) for line in file]
        for record in self.records:
            if record["metrics"]:
                record["values"]["memory"] = record["metrics"]["memory_bytes"]
        begin, end = self.records[0]["time"], self.records[-1]["time"]
        third = (end - begin) / 3
        self.first = [r for r in self.records if r["time"] <= begin + third]
        self.last = [r for r in self.records if r["time"] >= end - third]
        self.hours = (end - begin) / 3600
        self.lacking = {name: [] for name in PROPERTIES}

    @staticmethod
    def points(records, name):
        return [(r["time"], r["values"][name]) for r in records if name in r["values"]]

    def compare(self, name):
        first, last = ([v for _, v in self.points(part, name)] for part in (self.first, self.last))
        if not first or not last:
            return None
        before, after = statistics.median(first), statistics.median(last)
        most = max(v for _, v in self.points(self.records, name))
        if name in EXACT and after > before:
            self.lacking["descriptors"].append(f"{name}: {before:g}, then {after:g}")
        if name in MEMORY and after > before * MEMORY_SHARE + MEMORY_BYTES:
            self.lacking["memory"].append(f"{name}: {before / MIB:.1f} MiB, then {after / MIB:.1f} MiB")
        return before, after, most, slope_an_hour(self.points(self.records, name))

    def lives(self, role):
        """The growth of a role's Pss in each life of a process that has at least ten records."""
        lives = collections.defaultdict(list)
        for record in self.records:
            if f"{role} Pss" in record["values"]:
                lives[record["pids"][role]].append((record["time"], record["values"][f"{role} Pss"]))
        return [(p[-1][0] - p[0][0], slope_an_hour(p[len(p) // 5 :])) for p in lives.values() if len(p) >= 10]

    def check_metrics(self):
        answered = [r["metrics"] for r in self.records if r["metrics"]]
        for values in answered:
            for what, used, limit in LIMITS:
                if values[used] > values[limit]:
                    self.lacking["limits"].append(f"{what}: {values[used]:.0f} of {values[limit]:.0f} bytes")
            carried = values["samples_stored_total"] + values["samples_dropped_total"]
            if values["samples_fired_total"] != carried:
                self.lacking["accounts"].append(f"{values['samples_fired_total']:.0f} fired, {carried:.0f} carried")
        if len(answered) < len(self.records) / 2:
            self.lacking["accounts"].append(f"{len(answered)} answers of {len(self.records)}")

    def changed_kinds(self, role):
        """The kinds of descriptors that are more in the last third."""
        counts = [collections.defaultdict(list), collections.defaultdict(list)]
        parts = [[r["kinds"][role] for r in part if role in r["kinds"]] for part in (self.first, self.last)]
        for part, count in zip(parts, counts):
            for kind in {kind for kinds in parts[0] + parts[1] for kind in kinds}:
                count[kind] = statistics.median([kinds.get(kind, 0) for kinds in part] or [0])
        return [f"{kind} {counts[0][kind]:g}, then {n:g}" for kind, n in counts[1].items() if n != counts[0][kind]]

    def write(self, output):
        print(f"{len(self.records)} records in {self.hours:.2f} h")
        print(f"{'':<20} {'first third':>12} {'last third':>12} {'most':>12} {'an hour':>12}")
        for name in dict.fromkeys(name for record in self.records for name in record["values"]):
            row = self.compare(name)
            if row:
                unit = 1024 if "bytes" in name or name in MEMORY else 1
                print(f"{name + (' KiB' if unit > 1 else ''):<20}", *(f"{value / unit:>12.1f}" for value in row))
        for role in ("main", "opener", "engine"):
            print(f"{role}, Pss of each long life:",
                ", ".join(f"{s / 60:.0f} min {grown / 1024:+.0f} KiB/h" for s, grown in self.lives(role)) or "none")
            for change in self.changed_kinds(role):
                print(f"{role}: {change}")
        self.check_metrics()
        for name, lines in self.lacking.items():
            with open(os.path.join(output, name), "w", encoding="utf-8") as file:
                file.writelines(line + "\n" for line in lines)


if sys.argv[1] == "churn":
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    Churn().go_on()
elif sys.argv[1] == "watch":
    watch(sys.argv[2], sys.argv[3], float(sys.argv[4]))
else:
    Table(sys.argv[2]).write(sys.argv[3])
