# "loop FILE" makes the file, and loops for ever in a few bytes of generated code, which need no memory. "overwrite PID"
# overwrites the memory of that process, except its stack and its libraries' data: what a hostile program could write
# there. The words are mostly pointers into the same memory, so that they lead on.
import ctypes
import mmap
import random
import sys

LOOP = b"\x55\x48\x89\xe5\xeb\xfe"  # push %rbp; mov %rsp,%rbp; jmp .


def inner(path):
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(LOOP)
    loop = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    open(path, "w").close()
    loop()


def overwrite(pid):
    random.seed(1)
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "r+b", buffering=0) as memory:
        areas = []
        for line in maps:
            fields = line.split()
            start, end = (int(number, 16) for number in fields[0].split("-"))
            if fields[1].startswith("rw") and (len(fields) < 6 or fields[5] == "[heap]"):
                areas.append((start, end))
        while True:
            start, end = random.choice(areas)
            address = random.randrange(start, end) & ~7
            memory.seek(address)
            word = random.choice((address, random.randrange(start, end) & ~7, random.getrandbits(64), 0))
            memory.write(word.to_bytes(8, "little"))


if sys.argv[1] == "loop":
    inner(sys.argv[2])
else:
    overwrite(int(sys.argv[2]))
