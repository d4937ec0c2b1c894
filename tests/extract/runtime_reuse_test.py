# Makes code, waits in it until a byte comes, and frees it, again and again. Each differs from those before in its name,
# its file or both. Each tells "frame FIRST-LINE LINE INSTRUCTION NAME FILE" of itself.
import os


def run(name, file):
    code = compile("write(1, line)\nread(0, 1)", file, "exec").replace(co_name=name)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=name)
    line = "frame 1 1 0 %s %s\n" % (name, file)
    exec(code, {"write": os.write, "read": os.read, "line": line.encode()})


for number in range(40):
    run("same", "/path_of_a_file/with_%03d" % number)
for number in range(40):
    run("name_%03d" % number, "/path_of_a_file/same")
for number in range(40):
    run("n%03d" % number, "f%03d" % number)
