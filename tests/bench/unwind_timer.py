#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""unwind_timer.py PID SECONDS HZ: the time in the handler of perf's sampling timer, in nanoseconds, a
line each, of those that interrupted PID. Exit status 3: another profiler samples at this rate too.

It reads the kernel's tracepoints around timer handlers, in a separate trace buffer. The result
includes the cost of the tracepoints, the same for every tool. Time stamps are CPU cycles, because
those in nanoseconds are rounded to microseconds; each entry also has a time in ns, which gives the
length of a cycle. Timers of another rate belong to another profiler."""
import os
import re
import sys
import time

TRACING = "/sys/kernel/tracing"
LINE = re.compile(rb"\[(\d+)\] \S+ (\d+): hrtimer_expire_(entry|exit): hrtimer=(\S+)(.*)")
ENTRY = re.compile(rb"function=(\S+) now=(\d+)")


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="ascii") as file:
        file.write(text)


def record(pid, seconds):
    folder = os.path.join(TRACING, "instances", f"pilotlight-bench-{os.getpid()}")
    os.mkdir(folder)
    try:
        write(folder, "tracing_on", "0")
        write(folder, "trace_clock", "x86-tsc")
        write(folder, "buffer_size_kb", "8192")
        write(folder, "set_event_pid", str(pid))
        write(folder, "events/timer/hrtimer_expire_entry/enable", "1")
        write(folder, "events/timer/hrtimer_expire_exit/enable", "1")
        write(folder, "tracing_on", "1")
        time.sleep(seconds)
        write(folder, "tracing_on", "0")
        with open(os.path.join(folder, "trace"), "rb") as file:
            return file.readlines()
    finally:
        write(folder, "events/enable", "0")
        os.rmdir(folder)


class Timer:
    """perf's timer of one CPU."""

    def __init__(self):
        self.began = None
        self.expired_ns = []
        self.cycles = []

    def has_rate(self, hertz):
        """Sometimes two consecutive periods are visible."""
        times = sorted(self.expired_ns)
        shortest = min((b - a for a, b in zip(times, times[1:])), default=0)
        return abs(shortest * hertz / 1e9 - 1) < 0.03


def read_timers(lines):
    """The timers by (CPU, address), and the (cycles, ns) of each entry."""
    timers, clock = {}, []
    for line in lines:
        match = LINE.search(line)
        if not match:
            continue
        key, cycles = (match[1], match[4]), int(match[2])
        if match[3] == b"exit":
            timer = timers.get(key)
            if timer and timer.began is not None:
                timer.cycles.append(cycles - timer.began)
                timer.began = None
            continue
        entry = ENTRY.search(match[5])
        if not entry:
            continue
        clock.append((cycles, int(entry[2])))
        if entry[1] == b"perf_swevent_hrtimer":
            timer = timers.setdefault(key, Timer())
            timer.began = cycles
            timer.expired_ns.append(int(entry[2]))
    return timers, clock


def main():
    timers, clock = read_timers(record(int(sys.argv[1]), float(sys.argv[2])))
    ours = {key: timer for key, timer in timers.items() if timer.has_rate(float(sys.argv[3]))}
    if len({cpu for cpu, _ in ours}) < len(ours):
        return 3
    if len(clock) < 2:
        return 0
    first, last = min(clock), max(clock)
    ns = (last[1] - first[1]) / (last[0] - first[0])
    for timer in ours.values():
        for cycles in timer.cycles:
            print(round(cycles * ns))
    return 0


sys.exit(main())
