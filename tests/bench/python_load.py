# A program that calls through Python and C: json, re, sorted() with a key, generators; 12 functions below them, or as
# many as the second argument says.
import json
import re
import sys
import time

data = {"k%d" % number: [number, str(number), {"x": number * 1.5}] for number in range(60)}


def encode():
    return json.dumps(data, default=str, indent=1)


def search():
    return re.sub(r"k(\d+)", lambda match: match.group(1), " ".join(data))


def order():
    return sorted(data, key=lambda key: score(key))


def score(key):
    return sum(ord(character) for character in key)


def generate(count):
    for number in range(count):
        yield score("k%d" % number)


def step(depth):
    if depth:
        return step(depth - 1)
    encode()
    search()
    order()
    sum(generate(100))


end = time.time() + float(sys.argv[1])
depth = int(sys.argv[2]) if len(sys.argv) > 2 else 12
while time.time() < end:
    step(depth)
