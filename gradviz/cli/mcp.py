"""``gradviz mcp``: a server for coding agents, on stdin and stdout."""

from __future__ import annotations

import argparse
from typing import Any

from gradviz.errors import GradvizError

_MCP = """\
Serves the Model Context Protocol on stdin and stdout, for coding agents: tools that run
a script, say what is wrong with its gradients and why, and propose edits. It opens no
connection to anywhere. docs/agents.md shows how to configure a client.
"""

_MISSING = (
    "it needs the package mcp, which is not installed: "
    "`python -m pip install 'mcp>=2'`."
)


def add_mcp(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the others."""
    mcp = commands.add_parser(
        "mcp", help="serve coding agents over stdio", description=_MCP
    )
    mcp.set_defaults(execute=_serve)


def _serve(_: argparse.Namespace) -> int:
    try:
        from gradviz.mcp.server import serve
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("mcp", "mcp_types", "anyio", "pydantic"):
            raise
        raise GradvizError(_MISSING) from None
    serve()
    return 0
