# A program whose tasks await each other. The innermost one tells what asyncio knows of that: "thread TID", then for each
# task that awaits, the innermost first, "task", and its coroutines as "frame FIRST-LINE LINE INSTRUCTION NAME FILE",
# innermost first. Then it waits until its input ends.
import asyncio
import os
import threading


def tell(graph):
    # The first call stack is that of this task, which runs.
    while graph.awaited_by:
        (graph,) = graph.awaited_by
        print("task")
        for entry in graph.call_stack:
            frame = entry.frame
            numbers = frame.f_code.co_firstlineno, frame.f_lineno, frame.f_lasti // 2
            print("frame %d %d %d %s %s" % (numbers + (frame.f_code.co_qualname, frame.f_code.co_filename)))


async def innermost(depth):
    if depth > 0:
        return await innermost(depth - 1)
    print("thread %d" % threading.get_native_id())
    tell(asyncio.capture_call_graph())
    print("end", flush=True)
    os.read(0, 1)


async def gathers():
    async def inner():
        await asyncio.gather(innermost(3), asyncio.sleep(0.01))

    await inner()


async def groups():
    async with asyncio.TaskGroup() as group:
        group.create_task(gathers())


async def shields():
    await asyncio.shield(asyncio.create_task(groups()))


async def main():
    await asyncio.wait([asyncio.create_task(shields())])


asyncio.run(main())
os._exit(0)
