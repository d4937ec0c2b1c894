# SPDX-License-Identifier: GPL-2.0-or-later
"""measured.py FILE COMMAND...: runs it and writes to FILE the CPU time of the command and its children in
milliseconds, and the peak resident set of any of them in KiB."""

import os
import sys

pid = os.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w") as file:
    cpu_ms = (usage.ru_utime + usage.ru_stime) * 1000
    file.write("%d %d\n" % (cpu_ms, usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status) & 255)
