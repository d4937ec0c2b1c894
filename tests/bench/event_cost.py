#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What events cost, beside the tools that people use for the same questions. As root, on a quiet machine, with perf,
bpftool and Debian's libbpf-tools (what is missing is left out):

    make && make workloads && tests/bench/event_cost.py [LOAD]...

The loads: `pipe`, two processes that wake each other (perf bench sched pipe); `messaging`, 80 processes
that send to each other (perf bench sched messaging); `memory`, page faults and kernel memory (workloads/burst); and
`find`, over TREE (/usr). Each runs alone and under each tool, which watches the whole machine, by turns, ROUNDS (5) times.
SCALE (1.0) is their length.

Prints medians: the load's wall-clock and CPU time, and what the tool added to the load's CPU time; the CPU time of the
tool itself, from its start until it has written its result, pilotlight's with all names and pictures; and the time in its BPF programs while the load ran, by
the kernel's statistics. This is a bench, not a test: no figure makes it fail.
"""
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", ROOT + "/build/release")
ROUNDS = int(os.environ.get("ROUNDS", "5"))
SCALE = float(os.environ.get("SCALE", "1"))
TREE = os.environ.get("TREE", "/usr")
START_SECONDS = 3  # for a tool to begin
END_SECONDS = 60


def times(number):
    return str(max(1, int(number * SCALE)))


LOADS = {
    # On one CPU: where the scheduler places both processes decides more than any tool.
    "pipe": ["taskset", "-c", "1", "perf", "bench", "sched", "pipe", "-l", times(200000)],
    "messaging": ["perf", "bench", "sched", "messaging", "-g", "2", "-l", times(2000)],
    "memory": ["taskset", "-c", "1", "sh", "-c", f"{BUILD}/workloads/burst faults {times(40000)}; {BUILD}/workloads/burst sockets {times(20000)}"],
    "find": ["find", TREE, "-newer", "/proc/self/exe"],
}


def ours(events):
    return [BUILD + "/pilotlight", "record", "-q", "-a", "-f", "folded", "-o", "ours", "-d", "1h", "-e", events]


def perf(*arguments):
    return ["perf", *arguments]


WAITS = {
    "pilotlight cpu": ours("cpu"),
    "pilotlight offcpu,runqueue": ours("offcpu,runqueue"),
    "pilotlight context-switches": ours("context-switches"),
    "pilotlight sched:sched_switch": ours("sched:sched_switch"),
    "pilotlight lock": ours("lock"),
    "perf record sched_switch -g": perf("record", "-q", "-a", "-g", "-o", "perf.data", "-e", "sched:sched_switch"),
    "perf trace -s": perf("trace", "-s", "-a", "-o", "trace"),
    "offcputime": ["offcputime", "1000000"],
    "runqlat": ["runqlat", "1000000"],
    "klockstat": ["klockstat"],
}
MEMORY = {
    "pilotlight cpu": ours("cpu"),
    "pilotlight faults": ours("faults"),
    "pilotlight kmem:alloc": ours("kmem:alloc"),
    "pilotlight kmem:live": ours("kmem:live"),
    "perf record faults -g": perf("record", "-q", "-a", "-g", "-o", "perf.data", "-e", "faults", "-c", "7"),
    "perf kmem record": perf("kmem", "--slab", "record", "-o", "perf.data"),
}
FILES = {
    "pilotlight cpu": ours("cpu"),
    "pilotlight block": ours("block"),
    "pilotlight kmem:alloc": ours("kmem:alloc"),
    "pilotlight raw_syscalls:sys_enter": ours("raw_syscalls:sys_enter"),
    "perf record sys_enter -g": perf("record", "-q", "-a", "-g", "-o", "perf.data", "-e", "raw_syscalls:sys_enter"),
    "perf trace -s": perf("trace", "-s", "-a", "-o", "trace"),
    "syscount": ["syscount"],
    "biostacks": ["biostacks"],
}
TOOLS = {"pipe": WAITS, "messaging": WAITS, "memory": MEMORY, "find": FILES}


def bpf_programs():
    """The run time of each loaded BPF program, in ns."""
    answer = subprocess.run(["bpftool", "prog", "show", "-j"], capture_output=True, check=True).stdout
    return {program["id"]: program.get("run_time_ns", 0) for program in json.loads(answer)}


def cpu_of(usage):
    return usage.ru_utime + usage.ru_stime


def run_load(load):
    """Runs it to its end. Returns its wall-clock and CPU time, with that of its children."""
    begun = time.monotonic()
    before = cpu_of(resource.getrusage(resource.RUSAGE_CHILDREN))
    subprocess.run(LOADS[load], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.monotonic() - begun, cpu_of(resource.getrusage(resource.RUSAGE_CHILDREN)) - before


def stop(tool):
    """Ends it. Returns its CPU time, with that of its children."""
    tool.send_signal(signal.SIGINT)
    deadline = time.monotonic() + END_SECONDS
    while True:
        pid, status, usage = os.wait4(tool.pid, os.WNOHANG)
        if pid:
            tool.returncode = status
            return cpu_of(usage)
        if time.monotonic() > deadline:
            tool.kill()
        time.sleep(0.05)


def run_beside(load, command, folder):
    """Returns the load's wall-clock and CPU time, the tool's CPU time, and the time in BPF; or None."""
    known = bpf_programs()
    with open(folder + "/log", "wb") as log:
        tool = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    time.sleep(START_SECONDS)
    if tool.poll() is not None:
        with open(folder + "/log", "rb") as log:
            print("# %s: %s" % (" ".join(command), log.read().decode(errors="replace").strip()[-200:]), file=sys.stderr)
        return None
    before = bpf_programs()
    wall, cpu = run_load(load)
    bpf = sum(ns - before.get(number, 0) for number, ns in bpf_programs().items() if number not in known)
    return wall, cpu, stop(tool), bpf / 1e9


def measure(load, folder):
    results = {"(alone)": []}
    run_load(load)  # what it reads is in memory from then on
    tools = {name: command for name, command in TOOLS[load].items() if shutil.which(command[0])}
    for _ in range(ROUNDS):
        results["(alone)"].append((*run_load(load), 0, 0))
        for name, command in tools.items():
            result = run_beside(load, command, folder)
            if result:
                results.setdefault(name, []).append(result)
    return results


def report(load, results):
    def median(name, column):
        return statistics.median(result[column] for result in results[name])

    print(f"\n{load}: {' '.join(LOADS[load])}")
    print("| beside | wall, s | CPU, s | added | tool's CPU, s | BPF, s |\n|---|---|---|---|---|---|")
    alone = median("(alone)", 1)
    for name in results:
        added = "" if name == "(alone)" else "%+.1f %%" % (100 * (median(name, 1) - alone) / alone)
        print("| %s | %.2f | %.2f | %s | %.2f | %.3f |" % (
            name, median(name, 0), median(name, 1), added, median(name, 2), median(name, 3)), flush=True)


def main():
    loads = sys.argv[1:] or list(LOADS)
    if os.geteuid() != 0 or not all(load in LOADS for load in loads):
        sys.exit(__doc__)
    for needed in "perf", "bpftool", BUILD + "/pilotlight", BUILD + "/workloads/burst":
        if not shutil.which(needed):
            sys.exit("event_cost: no " + needed)
    setting = "/proc/sys/kernel/bpf_stats_enabled"
    with open(setting) as file:
        statistics_before = file.read()
    with open(setting, "w") as file:
        file.write("1")
    try:
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
            for load in loads:
                report(load, measure(load, folder))
    finally:
        with open(setting, "w") as file:
            file.write(statistics_before)


if __name__ == "__main__":
    main()
