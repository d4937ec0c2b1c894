# SPDX-License-Identifier: GPL-2.0-or-later
# Python with native modules, and a callback from C to Python.
import hashlib
import json
import re
import zlib

TEXT = json.dumps([{"name": f"word{i}", "value": i * 1.5} for i in range(300)])


def turn(seed):
    data = json.loads(TEXT)
    data.sort(key=lambda item: item["value"] * seed % 7)
    re.sub(r"word(\d+)", lambda match: match[1], TEXT)
    return zlib.crc32(zlib.compress(TEXT.encode())) + len(hashlib.sha256(TEXT.encode()).digest())


seed = 0
while True:
    seed += turn(seed) % 3
