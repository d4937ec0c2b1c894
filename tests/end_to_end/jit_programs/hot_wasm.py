# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs heavy three times as long as light, in WebAssembly. The argument is the CPU time in seconds; the limit is
a minute."""

import sys
import time

import wasmtime

LOOP = """
  (func ${name} (export "{name}") (param $rounds i32) (result i32)
    (local $sum i32)
    (loop $again
      (local.set $sum (i32.add (i32.mul (local.get $sum) (i32.const 31)) (local.get $rounds)))
      (local.set $rounds (i32.sub (local.get $rounds) (i32.const 1)))
      (br_if $again (local.get $rounds)))
    (local.get $sum))
"""

config = wasmtime.Config()
config.profiler = "jitdump"
engine = wasmtime.Engine(config)
store = wasmtime.Store(engine)
text = "(module" + "".join(LOOP.replace("{name}", name) for name in ("heavy", "light")) + ")"
exports = wasmtime.Instance(store, wasmtime.Module(engine, text), []).exports(store)
heavy, light = exports["heavy"], exports["light"]
end = time.process_time() + float(sys.argv[1])
latest = time.monotonic() + 60
while time.process_time() < end and time.monotonic() < latest:
    heavy(store, 6000000)
    light(store, 2000000)
