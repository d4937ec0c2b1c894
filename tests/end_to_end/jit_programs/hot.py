# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs heavy three times as long as light. The argument is the CPU time in seconds."""

import sys
import time


def turn(rounds, total):
    for i in range(rounds):
        total = (total * 31 + i) % 1000003
    return total


def heavy(rounds):
    return turn(3 * rounds, 1) + 1


def light(rounds):
    return turn(rounds, 1) + 1


total = 0
while time.process_time() < float(sys.argv[1]):
    total += heavy(10000) + light(10000)
