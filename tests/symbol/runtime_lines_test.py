# Tells for the code objects of a file which line each instruction has: "code FIRST-LINE TABLE", the
# table in hexadecimal digits, then the lines of its instructions, 0 for none.
import sys


def tell(code):
    lines = [0] * (len(code.co_code) // 2)
    for start, end, line in code.co_lines():
        for unit in range(start // 2, end // 2):
            lines[unit] = line or 0
    print("code", code.co_firstlineno, code.co_linetable.hex(), *lines)
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            tell(constant)


import argparse

with open(argparse.__file__, encoding="utf-8") as file:
    tell(compile(file.read(), "argparse.py", "exec"))
print("end", sys.version_info[1])
