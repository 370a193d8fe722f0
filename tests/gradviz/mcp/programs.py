"""Programs that an agent asks about, and the SDK's client to ask with."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.forked import PATHS

Conversation = Callable[[Any], Awaitable[Any]]

CUT = """\
import gradtape as torch
from gradtape import nn

torch.manual_seed(0)
encoder, head = nn.Linear(8, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
inputs, targets = torch.randn(16, 8), torch.randn(16, 1)

for step in range(3):
    features = torch.tanh(encoder(inputs)).detach()
    loss = ((head(features) - targets) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

FINE = CUT.replace(".detach()", "")

LONG = """\
import gradtape as torch

w, total = torch.ones(2, requires_grad=True), 0
for n in range(100):
    total = total + (w * n).sum()
total.backward()
"""

RAISES = """\
import gradtape as torch

w = torch.ones(3, requires_grad=True)
y = w.exp()
y += 1
y.sum().backward()
"""

HANGS = f"""\
{CUT}
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open("new", "w") as file:
    file.write(str(child.pid))
os.rename("new", "pid")
time.sleep(600)
"""
"""Never ends, and has started a process that does not, either: `pid` has its id."""


def written(folder: Path, text: str, name: str = "train.py") -> Path:
    """Write a program; return its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@contextmanager
def served(folder: Path) -> Iterator[Callable[[Conversation], Any]]:
    """Start a server in a folder, as a client does; give what talks to it."""
    # Late: the SDK takes 1.5 s, and each process of tests collects all of them.
    from anyio.from_thread import start_blocking_portal
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gradviz", "mcp"],
        env={"PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1", **_temporary()},
        cwd=folder,
    )
    with open(os.devnull, "w") as nowhere, start_blocking_portal() as portal:
        connecting = Client(stdio_client(server, errlog=nowhere))
        with portal.wrap_async_context_manager(connecting) as client:
            yield lambda conversation: portal.call(conversation, client)


def _temporary() -> dict[str, str]:
    return {key: os.environ[key] for key in ("TMPDIR",) if key in os.environ}
