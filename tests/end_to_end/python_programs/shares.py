# Splits its CPU time 6 : 3 : 1 between three functions, whose callees are the same. One of them is called through a
# function of C, one is a method. Its chains of calls are known.
import sys
import time


def spin():
    total = 0
    for number in range(300):
        total += number
    return total


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        spin()


def heavy(unit):
    burn(6 * unit)


def light(unit):
    return sorted([1], key=lambda number: burn(3 * unit))


class Shape:
    def tiny(self, unit):
        burn(unit)


def main(unit):
    heavy(unit)
    light(unit)
    Shape().tiny(unit)


# In turns, so that samples that are lost at the start do not change the shares.
for _ in range(20):
    main(float(sys.argv[1]) / 20)
