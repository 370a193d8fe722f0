"""Runs ``gradviz`` many times for the price of one: forks a process that imported it.

Reads one request a line: a JSON object with the folder, the arguments and the files
for the streams, null being a pipe that nobody reads; "limits" are those of `resource`.
Answers with the wait status of the child.
"""

import gc
import json
import os
import resource
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from gradviz.cli import main

LIMIT_S = 60  # a child that hangs dies of SIGALRM

with tempfile.TemporaryDirectory() as folder:  # imports what comes late
    warm = Path(folder, "warm.py")
    warm.write_text("import gradtape\ngradtape.ones(2, requires_grad=True).sum()\n")
    main(["run", str(warm), "--json", f"{folder}/x.json", "--no-open"])
gc.collect()
gc.freeze()  # or every child walks all of it, and copies it
print("ready", flush=True)

while True:
    line = b""
    while not line.endswith(b"\n"):  # reads nothing ahead: children share the pipe
        line += (byte := os.read(0, 1))
        if not byte:
            os._exit(0)
    request = json.loads(line)
    child = os.fork()
    if not child:
        break
    status = os.waitpid(child, 0)[1]
    with suppress(ProcessLookupError):  # what it left running
        os.killpg(child, signal.SIGKILL)
    print(status, flush=True)

os.setpgid(0, 0)
signal.alarm(LIMIT_S)
os.chdir(request["folder"])
for number, name in enumerate(("stdin", "out", "err")):
    file = request.get(name, os.devnull)
    if file is None:
        unread, opened = os.pipe()
        os.close(unread)
    else:
        opened = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    os.dup2(opened, number)
    os.close(opened)
for name, limit in request.get("limits", {}).items():
    resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
sys.argv = ["gradviz", *request["arguments"]]
sys.exit(main())
