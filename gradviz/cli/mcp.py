"""``gradviz mcp``: a server for coding agents, on stdin and stdout."""

from __future__ import annotations

import argparse
from typing import Any

from gradviz.errors import GradvizError
from gradviz.extras import missing

_MCP = """\
Serves the Model Context Protocol on stdin and stdout, for coding agents: tools that run
a script, say what is wrong with its gradients and why, and propose edits. It opens no
connection to anywhere. docs/agents.md shows how to configure a client.
"""


def add_mcp(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the others."""
    mcp = commands.add_parser(
        "mcp", help="serve coding agents over stdio", description=_MCP
    )
    mcp.set_defaults(execute=_serve)


def _serve(_: argparse.Namespace) -> int:
    if told := missing("mcp"):
        raise GradvizError(told)
    from gradviz.mcp.server import serve

    serve()
    return 0
