# SPDX-License-Identifier: GPL-2.0-or-later
# A Python stack of about 20 native frames: sorted() calls a function that calls sorted(), and so on.


def leaf(number):
    total = 0
    for i in range(200):
        total += i * number
    return total


def nested(depth):
    if depth == 0:
        return leaf
    inner = nested(depth - 1)
    return lambda number: sorted(range(number, number + 8), key=inner)[0]


while True:
    nested(1)(5)
