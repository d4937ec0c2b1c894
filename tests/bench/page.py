#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast the page with a profile inside is, in headless Chromium: until its first picture, and how many pictures a
second it draws while a user zooms and searches; and its memory. Run it on a quiet machine, with chromium:

    tests/bench/page.py [FRAMES...]

FRAMES (150000 1000000) are those of the profile; the service sends 150000 at most, the smallest of a larger profile
are elided. This is a bench, not a test: no figure makes it fail."""

import json
import os
import shutil
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, root + "/tests/end_to_end")
from service_browser import Browser  # noqa: E402

SCRIPTS = "model", "flame", "strip", "heat", "text", "table", "page"
LABELS, DEPTH = 5000, 24

# Each step waits for its picture. Zoom: to frames of all widths. Search: for names, of which some are frequent.
STEPS = """(async (steps, step) => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    let longest = 0;
    await frame();
    const begin = performance.now();
    for (let i = 0, last = begin; i < steps; i++) {
        step(i);
        await frame();
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
    }
    return [steps / ((performance.now() - begin) / 1000), longest];
})(60, (i) => %s)"""
ZOOM = "benched.dom.flame.zoom(i % 2 ? 0 : Math.floor(benched.tree().count * ((i * 7919) % 97) / 97))"
SEARCH = "benched.change({ q: `function_${i % 10}` }, false)"


def make_profile(count):
    """Frames in pre-order: from each a path goes down, and the next begins somewhere on it."""
    label, depth, total, own = [0], [0], [0] * count, [0] * count
    seed = 1
    while len(label) < count:
        seed = (seed * 1103515245 + 12345) % (1 << 31)
        depth.append(1 + seed % min(depth[-1] + 1, DEPTH) if seed % 3 == 0 else min(depth[-1] + 1, DEPTH))
        label.append(1 + seed % LABELS)
    for i in range(count):
        own[i] = 1 if i + 1 == count or depth[i + 1] <= depth[i] else 0
    path = []
    for i in range(count):
        del path[depth[i]:]
        path.append(i)
        if own[i]:
            for above in path:
                total[above] += 1
    kinds = ["kernel", "executable", "library", "inlined", "jit", "synthetic", "python", "command", "all"]
    none = [-1] * count
    return {"version": 1, "title": "bench", "event": "cpu-clock", "event_title": "CPU time", "unit": "nanoseconds",
            "period": 10101010, "is_cpu": True, "cpus": 4, "start": 1795143600.0, "end": 1795143610.0, "covered": 10.0,
            "stored": total[0], "lost": 0, "elided": 0, "elided_count": 0,
            "labels": [["all", 8]] + [["function_%d(int, char const*)" % i, i % 3] for i in range(LABELS)],
            "kinds": kinds, "binaries": [], "files": [],
            "frames": {"label": label, "depth": depth, "total": total, "self": own, "binary": none, "file": none,
                       "line": [0] * count}}


def read(name):
    with open(root + "/daemon/page/" + name, encoding="utf-8") as file:
        return file.read()


def write_page(path, count):
    with open(path, "w", encoding="utf-8") as file:
        file.write("<!doctype html><meta charset=utf-8><style>" + read("page.css") + "</style><body>"
                   '<script type="application/json" id="data">')
        json.dump(make_profile(count), file)
        file.write('</script><script type="module">' + "".join(read(name + ".js") for name in SCRIPTS) +
                   "window.benched = { change, dom, tree: () => tree };</script>")


def renderer_bytes(parent):
    """The resident memory of the process that has the page: typed arrays are outside the heap of JavaScript."""
    most = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, encoding="utf-8") as command, open("/proc/%s/statm" % pid) as statm:
                if "--type=renderer" in command.read() and is_descendant(pid, parent):
                    most = max(most, int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
        except OSError:
            continue
    return most


def is_descendant(pid, ancestor):
    while int(pid) > 1:
        if int(pid) == ancestor:
            return True
        with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as stat:
            pid = stat.read().rsplit(")", 1)[1].split()[1]
    return False


def measure(browser, path):
    browser.open("file://" + path)
    paint = None
    while paint is None:
        paint = browser.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null")
        time.sleep(0.1)
    zoom = browser.evaluate(STEPS % ZOOM)
    search = browser.evaluate(STEPS % SEARCH)
    browser.call("HeapProfiler.collectGarbage")
    return paint, zoom, search, renderer_bytes(browser.process.pid) / (1 << 20)


def main():
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not program:
        sys.exit("page: needs chromium")
    print("%9s %14s %22s %22s %12s" % ("frames", "picture, ms", "zoom, 1/s (longest)", "search, 1/s (longest)", "memory, MiB"))
    for count in map(int, sys.argv[1:] or ("150000", "1000000")):
        with tempfile.TemporaryDirectory() as folder:
            write_page(folder + "/page.html", count)
            browser = Browser(program, folder)
            try:
                paint, zoom, search, heap = measure(browser, folder + "/page.html")
            finally:
                browser.end()
            print("%9d %14.0f %12.0f (%4.0f ms) %12.0f (%4.0f ms) %12.0f" % (count, paint, *zoom, *search, heap), flush=True)


main()
