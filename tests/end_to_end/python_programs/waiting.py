# SPDX-License-Identifier: GPL-2.0-or-later
"""waiting.py SECONDS FILE: threads that wait in functions of these names, each time for SECONDS at most. Writes FILE
once all do, with their stacks as faulthandler sees them."""
import faulthandler
import os
import queue
import select
import socket
import sys
import threading
import time

seconds = float(sys.argv[1])
lock = threading.Lock()
reader, writer = socket.socketpair()
empty = queue.Queue()
begun = threading.Barrier(7)


def in_sleep():
    time.sleep(seconds)


def in_lock():
    lock.acquire(timeout=seconds)


def in_socket():
    select.select([reader], [], [], seconds)


def in_queue():
    try:
        empty.get(timeout=seconds)
    except queue.Empty:
        pass


def nested(function, depth):
    return nested(function, depth - 1) if depth else function()


def in_nested():
    nested(in_sleep, 20)


# More functions than a sample of a thread that runs may be the first to meet.
MANY = 60
for number in range(MANY):
    exec("def many_%d(): many_%d()" % (number, number + 1))
globals()["many_%d" % MANY] = in_sleep


def in_many():
    many_0()


def wait_again_and_again(function):
    begun.wait()
    while True:
        function()


lock.acquire()
for function in in_sleep, in_lock, in_socket, in_queue, in_nested, in_many:
    threading.Thread(target=wait_again_and_again, args=(function,), daemon=True).start()
begun.wait()
time.sleep(0.2)
with open(sys.argv[2] + ".part", "w") as file:
    faulthandler.dump_traceback(file)
os.rename(sys.argv[2] + ".part", sys.argv[2])
time.sleep(1e6)
