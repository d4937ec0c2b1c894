#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast the page with a profile inside is, in headless Chromium: until its first picture, and how many pictures a
second it draws while a user zooms and searches; and its memory. Run it on a quiet machine, with chromium:

    tests/bench/page.py [FRAMES...]

    tests/bench/page.py --history FOLDER NOW
    tests/bench/page.py --speedscope FOLDER [FRAMES...]

FRAMES (150000 1000000) are those of the profile; the service sends 150000 at most, the smallest of a larger profile
are elided. With a history (tests/bench/store.sh shows how to make one), which ends at NOW, in seconds since 1970, the
page asks for its profiles, as it asks a service: until the first picture of the last hour, then until selections of
ten minutes and of a day are drawn, and the first zoom. Each answer is made by build/release/bench/answer (`make
bench`), a process each. With speedscope (`npm pack speedscope`, FOLDER/index.html) the same profile is opened there, and
zoomed by the wheel. This is a bench, not a test: no figure makes it fail."""

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, root + "/tests/end_to_end")
from service_browser import Browser  # noqa: E402

SCRIPTS = "model", "flame", "strip", "heat", "text", "address", "service", "menu", "table", "page"
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


# `shown` has the times at which a picture of a new profile was drawn.
OBSERVE = """const shown = [];
new MutationObserver(() => requestAnimationFrame(() => setTimeout(() => shown.push(performance.now())))).observe(dom.subtitle, { childList: true });
window.benched = { change, dom, tree: () => tree, shown };"""


def page_with(data):
    return ("<!doctype html><meta charset=utf-8><style>" + read("page.css") + "</style><body>" + data +
            '<script type="module">' + "".join(read(name + ".js") for name in SCRIPTS) + OBSERVE + "</script>")


def write_page(path, count):
    with open(path, "w", encoding="utf-8") as file:
        file.write(page_with('<script type="application/json" id="data">' + json.dumps(make_profile(count)) + "</script>"))


class Service(http.server.ThreadingHTTPServer):
    """Answers as a service would, from a history alone."""
    def __init__(self, history, now, folder):
        super().__init__(("127.0.0.1", 0), Answer)
        self.history, self.now, self.folder, self.made = history, now, folder, []


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url, service = urllib.parse.urlsplit(self.path), self.server
        body, status = b"{}", 404
        if url.path == "/":
            body, status = page_with("").encode(), 200
        elif url.path == "/api/v1/profile":
            path = "%s/answer.%d" % (service.folder, threading.get_ident())
            pairs = [part for pair in urllib.parse.parse_qsl(url.query) for part in pair]
            made = subprocess.run([root + "/build/release/bench/answer", service.history, path, service.now, *pairs],
                                  stdout=subprocess.PIPE, text=True)
            service.made.append(made.stdout.strip())
            with open(path, "rb") as file:
                body, status = file.read(), 200 if made.returncode == 0 else 404
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if url.path != "/" else "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


AWAIT = """(async (step) => {
    const before = benched.shown.length, begin = performance.now();
    step();
    while (benched.shown.length === before && performance.now() - begin < 60000)
        await new Promise((done) => setTimeout(done, 2));
    return benched.shown[before] - begin;
})(() => %s)"""


def measure_history(browser, service):
    """Returns lines: what was asked, ms until it was drawn, and the answer."""
    def at(seconds):
        return "@%.3f" % (int(service.now) - seconds)

    def first(seconds):
        # Another address of the same page would load nothing.
        browser.open("about:blank")
        browser.open("http://127.0.0.1:%d/#from=%s&to=%s" % (service.server_port, at(seconds), at(0)))
        return browser.evaluate("(async () => { while (!benched.shown.length) await new Promise((done) => setTimeout(done, 2));"
                                "return benched.shown[0]; })()")

    def select(begin, end):
        return browser.evaluate(AWAIT % ("benched.change({ from: '%s', to: '%s', zoom: '' })" % (at(begin), at(end))))

    ask = [("first picture, 1 h", lambda: first(3600)), ("first picture, 24 h", lambda: first(86400))]
    ask += [("10 min", lambda i=i: select(7200 + i * 600, 6600 + i * 600)) for i in range(3)]
    ask += [("24 h", lambda i=i: select(86400 - i, 0)) for i in range(3)]
    ask += [("first zoom", lambda: browser.evaluate(
        AWAIT % "benched.dom.flame.zoom([...benched.tree().depth].findIndex((depth, i) => depth === 4 && benched.tree().end[i] > i + 50))"))]
    for what, step in ask:
        before, took = len(service.made), step()
        found = re.match(r".*: [0-9.]+ s \(([0-9.]+) s CPU\), (\d+) bytes", (service.made[before:] or [""])[-1])
        print("%-22s %8.0f ms  %8s frames  answer %s" % (
            what, took if isinstance(took, (int, float)) else -1, browser.evaluate("benched.tree().count"),
            "%s s CPU, %s bytes" % found.groups() if found else service.made[before:]), flush=True)


def run_history(program, history, now):
    with tempfile.TemporaryDirectory() as folder:
        service = Service(history, now, folder)
        threading.Thread(target=service.serve_forever, daemon=True).start()
        browser = Browser(program, folder)
        try:
            measure_history(browser, service)
        finally:
            browser.end()
            service.shutdown()


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


# As a user would, in and out at places of the canvas that has the frames.
WHEEL = """(() => { const canvas = [...document.querySelectorAll('canvas')].sort((a, b) => b.width * b.height - a.width * a.height)[0];
    const box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: i % 8 < 4 ? -60 : 60, ctrlKey: true, bubbles: true, cancelable: true,
        clientX: box.left + box.width * ((i * 7919) % 97) / 97, clientY: box.top + box.height / 2 })); })()"""


def speedscope_profile(count):
    """The same frames as make_profile() has, in the format of speedscope's file-format-schema.json."""
    profile = make_profile(count)
    frames, path, samples = profile["frames"], [], []
    for label, depth, own in zip(frames["label"], frames["depth"], frames["self"]):
        del path[depth:]
        path.append(label)
        if own:
            samples.append(list(path))
    return {"$schema": "https://www.speedscope.app/file-format-schema.json",
            "shared": {"frames": [{"name": name} for name, _ in profile["labels"]]},
            "profiles": [{"type": "sampled", "name": "bench", "unit": "none", "startValue": 0, "endValue": len(samples),
                          "samples": samples, "weights": [1] * len(samples)}]}


class Static(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def measure_speedscope(program, folder, count):
    with tempfile.TemporaryDirectory() as temporary:
        served = temporary + "/served"
        shutil.copytree(folder, served)
        with open(served + "/bench.json", "w", encoding="utf-8") as file:
            json.dump(speedscope_profile(count), file)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Static, directory=served))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = Browser(program, temporary)
        try:
            origin = "http://127.0.0.1:%d/" % server.server_port
            browser.open(origin + "index.html#profileURL=" + urllib.parse.quote(origin + "bench.json"))
            paint = None
            while paint is None:
                time.sleep(0.05)
                paint = browser.evaluate("document.querySelector('canvas') && performance.now()")
            zoom = browser.evaluate(STEPS % WHEEL)
            browser.call("HeapProfiler.collectGarbage")
            return paint, zoom, renderer_bytes(browser.process.pid) / (1 << 20)
        finally:
            browser.end()
            server.shutdown()


def main():
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not program:
        sys.exit("page: needs chromium")
    if sys.argv[1:2] == ["--history"]:
        run_history(program, sys.argv[2], sys.argv[3])
        return
    if sys.argv[1:2] == ["--speedscope"]:
        for count in map(int, sys.argv[3:] or ("150000", "1000000")):
            paint, zoom, memory = measure_speedscope(program, sys.argv[2], count)
            print("%d frames: picture %.0f ms, zoom %.0f/s (longest %.0f ms), memory %.0f MiB" % (count, paint, *zoom, memory), flush=True)
        return
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
