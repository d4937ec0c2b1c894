# SPDX-License-Identifier: GPL-2.0-or-later
import std/[algorithm, strutils, tables]

proc fibonacci(n: int): int =
  if n < 2: n else: fibonacci(n - 1) + fibonacci(n - 2)

proc turn(seed: int): int =
  var words: Table[string, int]
  for i in 0 ..< 500:
    inc words.mgetOrPut("word" & $(seed * i mod 101), 0)
  var names: seq[string]
  for name in words.keys:
    names.add name
  names.sort(proc (a, b: string): int = cmp(a, b))
  names.join(" ").len + fibonacci(18)

var seed = 0
while true:
  seed += turn(seed) and 3
