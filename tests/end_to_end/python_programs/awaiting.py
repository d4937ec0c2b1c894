# Tasks that await each other. The innermost one works, called by an event loop that knows none of the others.
import asyncio
import sys
import time


def spin():
    total = 0
    for number in range(300):
        total += number
    return total


async def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        spin()


async def parent(seconds):
    async def inner():
        await asyncio.gather(work(seconds), asyncio.sleep(0))

    await inner()


async def main(seconds):
    async with asyncio.TaskGroup() as group:
        group.create_task(parent(seconds))


for _ in range(20):
    asyncio.run(main(float(sys.argv[1]) / 20))
