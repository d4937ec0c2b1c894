# SPDX-License-Identifier: GPL-2.0-or-later
"""Operates the page of `pilotlight ui` in a browser as a person does, with its mouse and keys:
ui_browser.py BROWSER ADDRESS FOLDER [gone]. Prints "ok - …" and "not ok - …" lines. In all of it the browser may have
nothing to say on its console. "gone": the service has ended."""

import base64
import json
import os
import re
import sys
import threading
import time

from service_browser import Browser, check

SECONDS = 600

STATE = """(() => { const shown = (name) => { const element = document.querySelector(name);
        return element && !element.hidden ? element.textContent : ''; };
    return { title: shown('h1'), subtitle: shown('.subtitle'), error: shown('.error'), busy: !!document.querySelector('.busy.on'),
        address: location.hash, tip: shown('.tip'), menu: shown('.menu'), detail: shown('.detail'), rows: document.querySelectorAll('tbody tr').length,
        heat: !document.querySelector('.heat').hidden, legend: shown('.legend'), help: document.querySelector('dialog').open,
        focus: document.activeElement.dataset.name || document.activeElement.parentElement?.className || '',
        wide: document.documentElement.scrollWidth - innerWidth, paper: getComputedStyle(document.body).backgroundColor }; })()"""
BOX = "(() => { const box = %s.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; })()"
FLAME = "[...document.querySelectorAll('.flame')].find((one) => !one.hidden).querySelector('canvas')"
KEYS = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38}


class Page:
    def __init__(self, browser, address):
        self.browser, self.address = browser, address

    def open(self, view):
        self.browser.seen = [message for message in self.browser.seen if is_message(message)]
        self.browser.call("Page.navigate", url="about:blank")
        self.browser.call("Page.navigate", url=self.address + view)
        return self.wait(lambda page: page["title"] != "Pilotlight" or page["error"])

    def state(self):
        try:
            return self.browser.evaluate(STATE)
        except RuntimeError:  # a new page takes the place of the one that was asked
            return None

    def wait(self, condition):
        """Until it holds, and no question is under way; what was seen last."""
        end = time.monotonic() + 60
        while True:
            found = self.state()
            if isinstance(found, dict) and condition(found) and not found["busy"] or time.monotonic() > end:
                return found if isinstance(found, dict) else {name: "" for name in ("title", "subtitle", "error")}
            time.sleep(0.1)

    def mouse(self, kind, x, y, **more):
        self.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def point(self, element, across, down):
        left, top, width, height = self.browser.evaluate(BOX % element)
        return left + across * width, top + (down if down >= 1 else down * height)

    def click(self, element, across=0.5, down=0.5, button="left"):
        x, y = self.point(element, across, down)
        self.mouse("mouseMoved", x, y)
        for kind in "mousePressed", "mouseReleased":
            self.mouse(kind, x, y, button=button, clickCount=1)

    def drag(self, element, begin, end, down=0.5):
        begin, end = self.point(element, begin, down), self.point(element, end, down)
        self.mouse("mousePressed", *begin, button="left", clickCount=1)
        self.mouse("mouseMoved", *end, button="left")
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def press(self, key):
        text = {"text": key} if len(key) == 1 else {}
        code = {"windowsVirtualKeyCode": KEYS[key]} if key in KEYS else {}
        if key == "Enter":
            text = {"text": "\r"}
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **code)
        self.browser.call("Input.dispatchKeyEvent", type="keyUp", key=key, **code)

    def named(self, text):
        return "[...document.querySelectorAll('button')].find((one) => one.textContent === '%s')" % text


def is_message(message):
    return message.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")


def check_views(page):
    found = page.open("&last=1h")
    check("a browser shows the profile", re.search(r"CPU time at \d+ Hz on \d+ CPUs, [\d,]+ samples", found["subtitle"]), found)
    begin = re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", found["title"])
    check("title and subtitle name the same time", begin and begin.group() in found["subtitle"], found)
    page.click(page.named("Table"))
    found = page.wait(lambda seen: seen["rows"] > 0)
    check("a click shows the table", found["rows"] > 0 and "view=table" in found["address"], found)
    page.browser.evaluate("document.querySelector('tbody tr').focus()")
    page.press("ArrowDown")
    page.press("Enter")
    found = page.wait(lambda seen: "view=sandwich" in seen["address"])
    check("keys in it lead to a sandwich", "view=sandwich" in found["address"], found)
    page.browser.evaluate("history.back()")
    found = page.wait(lambda seen: "view=table" in seen["address"])
    check("the back button goes back", "view=table" in found["address"], found)
    for name in "Bottom-up", "Flame graph":
        page.click(page.named(name))
    found = page.wait(lambda seen: "view" not in seen["address"])
    check("and forth again", found["error"] == "" and "view" not in found["address"], found)


def check_hands(page):
    page.click(FLAME, 0.5, 27)
    found = page.wait(lambda seen: "zoom=" in seen["address"])
    check("a click on a frame zooms, and a tip tells it", "zoom=" in found["address"] and "%; itself" in found["tip"], found)
    page.press("m")
    found = page.wait(lambda seen: seen["menu"])
    check("m opens its menu", "Callers and callees" in found["menu"], found)
    page.press("Escape")
    page.wait(lambda seen: not seen["menu"])
    page.press("Escape")
    found = page.wait(lambda seen: not seen["menu"] and "zoom=" not in seen["address"])
    check("Escape closes it, and zooms out", not found["menu"] and "zoom=" not in found["address"], found)
    page.press("/")
    for letter in "work":
        page.press(letter)
    found = page.wait(lambda seen: "q=work" in seen["address"])
    check("/ goes to the search", "q=work" in found["address"] and found["focus"] == "q", found)
    page.browser.evaluate("document.activeElement.blur()")
    page.press("?")
    found = page.wait(lambda seen: seen["help"])
    page.press("Escape")
    check("? opens the help, Escape closes it", found["help"] and not page.wait(lambda seen: not seen["help"])["help"], found)


def check_looks(page):
    page.browser.call("Emulation.setDeviceMetricsOverride", width=600, height=800, deviceScaleFactor=1, mobile=False)
    found = page.state()
    check("600 px are wide enough", found["wide"] <= 0, found)
    page.browser.call("Emulation.clearDeviceMetricsOverride")
    light = page.state()["paper"]
    page.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = page.state()["paper"]
    page.browser.call("Emulation.setEmulatedMedia", features=[])
    check("it is light or dark as the system is", light == "rgb(255, 255, 255)" and dark == "rgb(21, 24, 28)", (light, dark))
    printed = base64.b64decode(page.browser.call("Page.printToPDF", printBackground=True)["data"])
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    check("it fits on a sheet of paper", pages == 1, pages)


def check_times(page):
    found = page.open("&last=1min")
    found = page.wait(lambda seen: seen["heat"])
    check("a minute has its heat map", found["heat"], found)
    page.drag("document.querySelector('.heat canvas')", 0.4, 0.6)
    found = page.wait(lambda seen: "exact=1" in seen["address"])
    check("a drag in it selects exactly", "exact=1" in found["address"] and re.search(r":\d\d\.\d{3} to ", found["title"]), found)
    page.click(page.named("30d"))
    found = page.wait(lambda seen: "last=30d" in seen["address"] and "four hours" in seen["legend"])
    check("the strip shows 30 days", "four hours" in found["legend"] and found["error"] == "", found)
    page.browser.evaluate("document.querySelector('.strip canvas').focus()")
    page.press("Enter")
    found = page.wait(lambda seen: "from=" in seen["address"])
    check("Enter selects what it shows", "from=" in found["address"] and found["error"] == "", found)
    page.open("&last=1h")
    page.browser.evaluate("document.querySelector('.strip canvas').focus()")
    page.wait(lambda seen: seen["legend"])
    page.press("i")
    found = page.wait(lambda seen: "against=hour" in seen["address"])
    check("i leads to an incident", "against=hour" in found["address"], found)


def check_refusals(page):
    """What the service has nothing for, it says, and so does the page."""
    for view, part in (("&last=1min&select=comm:no-such", "no such comm"), ("&from=@1000&to=@2000", "no history"),
                       ("&last=1min&against=7d", "no history"), ("&last=1min&select=bad:x", "bad"), ("&last=x", "last")):
        found = page.open(view)
        check("the page tells why it has nothing: " + part, part in found["error"], found)


def check_tabs(page):
    """Each has a view of its own."""
    browser, first = page.browser, page.browser.session
    before = page.open("&last=1min")
    browser.session = None
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in "Page", "Runtime", "Log":
        browser.call(domain + ".enable")
    found = page.open("&last=1h&view=table")
    check("a second tab shows another view", found["rows"] > 0, found)
    browser.session = first
    after = page.state()
    check("the first tab does not change with it", after["title"] == before["title"] and after["rows"] == 0, after)


def main():
    program, address, folder = sys.argv[1:4]
    timer = threading.Timer(SECONDS, lambda: (print("not ok - the browser answers in time", flush=True), os._exit(1)))
    timer.start()
    browser = Browser(program, folder)
    page = Page(browser, address)
    try:
        if sys.argv[4:] == ["gone"]:
            found = page.open("&last=1min")
            check("without a service the page says so", "pilotlightd" in found["error"], found)
        else:
            check_views(page)
            check_hands(page)
            check_looks(page)
            check_times(page)
            check_refusals(page)
            check_tabs(page)
        messages = [json.dumps(message["params"])[:300] for message in browser.seen if is_message(message)]
        check("the browser has no complaint", messages == [], messages)
    finally:
        browser.end()
        timer.cancel()


if __name__ == "__main__":
    main()
