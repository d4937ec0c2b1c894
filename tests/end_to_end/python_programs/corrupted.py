# "loop FILE" makes the file, and loops for ever in a few bytes of generated code, which need no memory. "wait FILE" waits
# again and again in such code, in many threads. "overwrite PID FILE" makes the file, and overwrites the memory of that
# process, except its code, its first stack and its libraries' data: what a hostile program could write there. The words
# are mostly pointers into the same memory, so that they lead on.
import ctypes
import mmap
import random
import sys
import threading
import time

LOOP = bytes.fromhex("55 4889e5 ebfe")  # push %rbp; mov %rsp,%rbp; jmp .
# push %rbp; mov %rsp,%rbp; 1: mov $7,%eax; xor %edi,%edi; xor %esi,%esi; mov $20,%edx; syscall; jmp 1b
POLL_20_MS = bytes.fromhex("55 4889e5 b807000000 31ff 31f6 ba14000000 0f05 ebee")
THREADS = 16


def inner(code, path=None):
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    loop = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    if path:
        open(path, "w").close()
    loop()


def polls(thread):
    with open("/proc/self/task/%d/syscall" % thread.native_id) as file:
        return file.read().startswith("7 0x0 0x0 0x14 ")


def wait(path):
    threads = [threading.Thread(target=inner, args=(POLL_20_MS,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        while not polls(thread):
            time.sleep(0.01)
    inner(POLL_20_MS, path)


def overwrite(pid, path):
    random.seed(1)
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "r+b", buffering=0) as memory:
        areas = []
        for line in maps:
            fields = line.split()
            start, end = (int(number, 16) for number in fields[0].split("-"))
            if fields[1].startswith("rw-") and (len(fields) < 6 or fields[5] == "[heap]"):
                areas.append((start, end))
        open(path, "w").close()
        while True:
            start, end = random.choice(areas)
            address = random.randrange(start, end) & ~7
            memory.seek(address)
            word = random.choice((address, random.randrange(start, end) & ~7, random.getrandbits(64), 0))
            memory.write(word.to_bytes(8, "little"))


if sys.argv[1] == "loop":
    inner(LOOP, sys.argv[2])
elif sys.argv[1] == "wait":
    wait(sys.argv[2])
else:
    overwrite(int(sys.argv[2]), sys.argv[3])
