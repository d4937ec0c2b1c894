# Many processes of Python that work for 35 ms each. LIVES are started by exec, the rest by fork(), by multiprocessing
# in each of its ways, and by fork() and exec.
#
#	pilotlight record -F 499 --runtime-frames both -o lives.folded -- python3 tests/bench/python_lives.py LIVES
#
# Then of the samples in Python's loop, the share that has functions of Python:
#
#	awk '/^python.*_PyEval_EvalFrameDefault/ { all += $NF; if (/_\[p\]/) named += $NF } END { print named / all }' lives.folded
import os
import sys
import time


def work(seconds=0.035):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(500))


def fork(child):
    pid = os.fork()
    if pid == 0:
        child()
        os._exit(0)
    os.waitpid(pid, 0)


def interrupted():
    import signal

    signal.signal(signal.SIGUSR1, lambda number, frame: work(0.005))
    os.kill(os.getpid(), signal.SIGUSR1)
    work()


def run():
    os.execv(sys.executable, [sys.executable, "-S", __file__, "0"])


def main(lives):
    import multiprocessing
    import subprocess

    for _ in range(lives):
        subprocess.run([sys.executable, "-S", __file__, "0"])
    for _ in range(lives // 10):
        fork(interrupted)
        fork(run)
    for method in "fork", "spawn", "forkserver":
        with multiprocessing.get_context(method).Pool(2, maxtasksperchild=1) as pool:
            pool.map(work, [0.035] * (lives // 10), 1)


if __name__ == "__main__":
    if sys.argv[1] == "0":
        work()
    else:
        main(int(sys.argv[1]))
