# A program whose Python frames are known. It tells for each thread the frames that the thread sees
# itself, innermost first: "thread TID", then "frame FIRST-LINE LINE INSTRUCTION NAME FILE" each. Then it waits
# until its input ends. The innermost frame's instruction is that of the report, not of the wait.
import functools
import os
import sys
import threading

reports = []
lock = threading.Lock()
gate = threading.Lock()
THREADS = 4


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def report(wait):
    lines = ["thread %d" % threading.get_native_id()]
    frame = sys._getframe()
    while frame:
        code = frame.f_code
        numbers = code.co_firstlineno, frame.f_lineno, frame.f_lasti // 2
        lines.append("frame %d %d %d %s %s" % (numbers + (name_of(code), code.co_filename)))
        frame = frame.f_back
    with lock:
        reports.append("\n".join(lines))
        if len(reports) == THREADS:
            print("\n".join(reports) + "\nend", flush=True)
    wait()


class Shape:
    def method(self, then):
        # A function of C between two of Python.
        return sorted([1], key=lambda number: then())

    @staticmethod
    def größe(depth, then):
        if depth > 0:
            return Shape.größe(depth - 1, then)
        return then()


def generator(then):
    yield then()


async def awaited(then):
    return then()


async def asynchronous(then):
    yield await awaited(then)


async def awaiting(then):
    async for _ in asynchronous(then):
        pass


def drive(then):
    try:
        awaiting(then).send(None)
    except StopIteration:
        pass


def chain(wait):
    def inner():
        for _ in generator(lambda: drive(lambda: report(wait))):
            pass

    Shape.größe(20, lambda: Shape().method(inner))


def main():
    gate.acquire()
    threads = [threading.Thread(target=chain, args=(gate.acquire,), daemon=True) for _ in range(THREADS - 1)]
    for thread in threads:
        thread.start()
    while len(reports) < len(threads):
        threading.Event().wait(0.001)
    chain(functools.partial(os.read, 0, 1))
    os._exit(0)


main()
