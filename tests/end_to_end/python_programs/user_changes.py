# Runs before() as root and after() as another user, on one CPU. Both call the same function.
import os
import sys
import time


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def before(seconds):
    burn(seconds)


def after(seconds):
    burn(seconds)


os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
before(float(sys.argv[1]))
os.setuid(65534)
after(float(sys.argv[1]))
