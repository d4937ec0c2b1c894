# SPDX-License-Identifier: GPL-2.0-or-later
"""Operates the service's pages in a browser: service_browser.py BROWSER PORT FOLDER [TOKEN]. Prints "ok - …" and "not
ok - …" lines. With a token it operates the page, which asks for it. It controls the browser by the DevTools protocol on
a pipe, to which the policies of a page do not apply."""

import fcntl
import http.server
import json
import os
import subprocess
import sys
import threading
import time

SECONDS = 180


class Browser:
    def __init__(self, program, folder):
        to_read, self.commands = os.pipe()
        self.events, to_write = os.pipe()

        def place_pipes():
            for fd, number in ((fcntl.fcntl(to_read, fcntl.F_DUPFD, 10), 3),
                               (fcntl.fcntl(to_write, fcntl.F_DUPFD, 10), 4)):
                os.dup2(fd, number)

        self.log = open(folder + "/browser.log", "w")
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
             "--host-resolver-rules=MAP evil.example 127.0.0.1", "--window-size=1300,800",
             "--user-data-dir=" + folder + "/profile", "about:blank"],
            preexec_fn=place_pipes, close_fds=False, stdout=self.log, stderr=self.log)
        os.close(to_read)
        os.close(to_write)
        self.bytes, self.number, self.session, self.seen = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log":
            self.call(domain + ".enable")

    def receive(self):
        while b"\0" not in self.bytes:
            part = os.read(self.events, 1 << 16)
            if not part:
                raise EOFError("the browser has ended")
            self.bytes += part
        message, self.bytes = self.bytes.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(method + ": " + message["error"]["message"])
                return message["result"]
            self.seen.append(message)

    def wait(self, method):
        while not any(message.get("method") == method for message in self.seen):
            self.seen.append(self.receive())

    def open(self, url):
        self.seen = []
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            return "exception: " + json.dumps(result["exceptionDetails"])[:500]
        return result["result"].get("value")

    def complaints(self):
        """What the browser logged about policies."""
        return [message["params"]["entry"]["text"] for message in self.seen
                if message.get("method") == "Log.entryAdded" and message["params"]["entry"]["source"] == "security"]

    def end(self):
        self.process.kill()
        self.process.wait()


def check(what, passed, found=""):
    print(("ok" if passed else "not ok") + " - " + what + ("" if passed else ": found " + str(found)), flush=True)


OPERATE = """(() => {
    const svg = document.documentElement, rects = Array.from(svg.querySelectorAll(".frames rect"));
    const width = r => +r.getAttribute("width"), full = width(rects[0]);
    const narrow = rects.find(r => width(r) > 2 && width(r) < full / 2);
    const found = { live: svg.classList.contains("live"), frames: rects.length,
        fill: getComputedStyle(svg.querySelector(".paper")).fill };
    narrow.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    found.zoomed = width(narrow) / full;
    const input = svg.querySelector("input");
    input.value = "work";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    found.hits = rects.filter(r => r.classList.contains("hit")).length;
    found.address = location.hash;
    return found;
})()"""

INJECT = """(() => {
    const script = document.createElementNS("http://www.w3.org/2000/svg", "script");
    script.textContent = "window.injected = 1";
    document.documentElement.append(script);
    return window.injected === undefined;
})()"""

FETCH = "fetch('/metrics').then(() => 'answered', () => 'refused')"


def check_graph(browser, url, kind):
    browser.open(url)
    found = browser.evaluate(OPERATE)
    check(kind + ": the script runs", isinstance(found, dict) and found["live"], found)
    if not isinstance(found, dict):
        found = {"fill": "", "zoomed": 0, "hits": 0, "address": ""}
    check(kind + ": the style applies", found["fill"] not in ("", "rgb(0, 0, 0)"), found)
    check(kind + ": a click zooms", 0.99 < found["zoomed"] < 1.01, found)
    check(kind + ": the search finds frames", found["hits"] > 0 and "search=work" in found["address"], found)
    check(kind + ": the browser does not complain", browser.complaints() == [], browser.complaints())
    check(kind + ": an injected script does not run", browser.evaluate(INJECT) is True)
    check(kind + ": it can fetch nothing", browser.evaluate(FETCH) == "refused")


class Hostile(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<!doctype html><title>hostile</title><body>hostile"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


PAGE = "(() => { const bar = document.querySelector('.token'), error = document.querySelector('.error');" \
    "return { asks: !bar.hidden, error: error.hidden ? '' : error.textContent," \
    "title: document.querySelector('h1').textContent, address: location.href }; })()"

GIVE = "(() => { const field = document.querySelector('.token input'); field.value = '%s';" \
    "field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' })); })()"

STORED = "[localStorage.length, sessionStorage.length, document.cookie, document.documentElement.innerHTML.includes('%s')]"


def await_page(browser, condition):
    found = None
    for _ in range(200):
        found = browser.evaluate(PAGE)
        if isinstance(found, dict) and condition(found):
            break
        time.sleep(0.1)
    return found


def check_token(browser, service, token):
    browser.open(service + "/ui")
    found = await_page(browser, lambda page: page["asks"])
    check("the page asks for the token", "asks for its token" in found["error"] and found["title"] == "Pilotlight", found)
    browser.evaluate(GIVE % "wrong-token-of-16-bytes")
    found = await_page(browser, lambda page: "refuses" in page["error"])
    check("a wrong token is refused, and asked for again", found["asks"] and "refuses" in found["error"], found)
    browser.evaluate(GIVE % token)
    found = await_page(browser, lambda page: page["title"] != "Pilotlight")
    check("with the token it shows the profile", not found["asks"] and found["error"] == "" and
          found["title"] != "Pilotlight", found)
    check("the token is in no address", token not in found["address"], found)
    found = browser.evaluate(STORED % token)
    check("nor anywhere but in memory", found == [0, 0, "", False], found)
    check("the page breaks no policy", browser.complaints() == [], browser.complaints())
    browser.open(service + "/ui")
    found = await_page(browser, lambda page: page["asks"])
    check("a page that is loaded again asks again", found["asks"], found)


LOAD = """new Promise(resolve => {
    const element = document.createElement("%s");
    element.onload = () => resolve("loaded");
    element.onerror = () => resolve("refused");
    element.src = "%s";
    document.body.append(element);
})"""


def check_hostile(browser, service):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = service.rsplit(":", 1)[1]
    browser.open("http://evil.example:" + port + "/metrics")
    text = browser.evaluate("document.documentElement.textContent")
    check("a hostile name for our address gets no profile", text and "evil.example:" in text and "refused" in text and
          "pilotlight_" not in text, text)
    browser.open("http://evil.example:%d/" % server.server_port)
    for mode in "cors", "no-cors":
        found = browser.evaluate("fetch('%s/metrics', { mode: '%s' }).then(() => 'answered', () => 'refused')" %
                                 (service, mode))
        check("another page cannot fetch (%s)" % mode, found == "refused", found)
    for element, path in ("img", "/api/v1/profile?last=10s"), ("script", "/metrics"):
        found = browser.evaluate(LOAD % (element, service + path))
        check("another page cannot load: " + element, found == "refused", found)
    browser.seen = []
    browser.evaluate("location.href = '%s/metrics'; 1" % service)
    browser.wait("Page.loadEventFired")
    text = browser.evaluate("document.documentElement.textContent")
    check("a link of another page leads here", text and "pilotlight_" in text, text)


def main():
    program, port, folder = sys.argv[1:4]
    service = "http://127.0.0.1:" + port
    timer = threading.Timer(SECONDS, lambda: (print("not ok - the browser answers in time", flush=True), os._exit(1)))
    timer.start()
    browser = Browser(program, folder)
    try:
        if len(sys.argv) > 4:
            check_token(browser, service, sys.argv[4])
        else:
            check_graph(browser, service + "/api/v1/profile?last=1min", "flame graph")
            check_graph(browser, service + "/api/v1/diff?last=4s&against.last=1min", "difference")
            check_hostile(browser, service)
    finally:
        browser.end()
        timer.cancel()


if __name__ == "__main__":
    main()
