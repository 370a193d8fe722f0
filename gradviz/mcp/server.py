"""The server: its tools and their arguments, its start and its end."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypeVar

import anyio
from anyio.to_thread import run_sync
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from gradviz.errors import GradvizError
from gradviz.mcp import child, manual, recordings
from gradviz.mcp.nodes import nodes
from gradviz.mcp.scripts import Engine, Scripts, target_at

T = TypeVar("T")

_RUNS = ToolAnnotations(read_only_hint=False, open_world_hint=True)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_Script = Annotated[
    str,
    Field(description="Path of the script, from `folder` on; or a module's name."),
]
_Arguments = Annotated[
    list[str] | None, Field(description="What the script gets as sys.argv[1:].")
]
_Folder = Annotated[
    str | None, Field(description="Where to run it; default: the server's folder.")
]
_Module = Annotated[
    bool, Field(description="Run `script` as `python -m` runs a module.")
]
_Engine = Annotated[
    Engine | None,
    Field(description="What `import torch` gives; default: the installed PyTorch."),
]
_Seconds = Annotated[
    float,
    Field(
        gt=0, le=3_600, description="After so long it is ended, and told until then."
    ),
]
_Recording = Annotated[
    str,
    Field(description="Path that `run` gave, or any .gradviz.json or page of gradviz."),
]
_First = Annotated[int, Field(ge=0, description="Skip so many rows of the answer.")]


def make_server(kept: Path) -> MCPServer[Any]:
    """Return the server with its tools; recordings are kept in a folder."""
    server: MCPServer[Any] = MCPServer(
        "gradviz", instructions=manual.INSTRUCTIONS, log_level="WARNING"
    )
    _add_scripts(server, Scripts(kept))
    _add_recordings(server)
    return server


def serve() -> None:
    """Serve on stdin and stdout until stdin ends."""
    with TemporaryDirectory(prefix="gradviz-mcp-") as kept:

        def end(number: int, _: object) -> None:
            """Die of the signal, after what runs: whoever reads stdin cannot wait."""
            child.end_all()
            rmtree(kept, ignore_errors=True)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        signal.signal(signal.SIGTERM, end)
        anyio.run(make_server(Path(kept)).run_stdio_async)


def _add_scripts(server: MCPServer[Any], scripts: Scripts) -> None:
    @server.tool(description=manual.RUN, annotations=_RUNS)
    async def run(
        script: _Script,
        arguments: _Arguments = None,
        folder: _Folder = None,
        module: _Module = False,
        engine: _Engine = None,
        timeout_s: _Seconds = 120,
    ) -> dict[str, Any]:
        target = _said(target_at, script, folder, module=module, engine=engine)
        return await scripts.run(target, arguments or [], timeout_s)

    @server.tool(description=manual.FIX, annotations=_RUNS)
    async def fix(
        script: _Script,
        arguments: _Arguments = None,
        folder: _Folder = None,
        module: _Module = False,
        engine: _Engine = None,
        try_edits: Annotated[bool, Field(description="Run it with each edit.")] = False,
        timeout_s: _Seconds = 120,
    ) -> dict[str, Any]:
        target = _said(target_at, script, folder, module=module, engine=engine)
        given = arguments or []
        return await scripts.fix(target, given, timeout_s, attempt=try_edits)


def _add_recordings(server: MCPServer[Any]) -> None:
    @server.tool(description=manual.FINDINGS, annotations=_READS)
    async def findings(
        recording: _Recording,
        code: Annotated[str | None, Field(description='As "GV306".')] = None,
        first: _First = 0,
    ) -> dict[str, Any]:
        return await _read(lambda: recordings.findings(recording, code, first))

    @server.tool(description=manual.WHY, annotations=_READS)
    async def why(
        recording: _Recording,
        name: Annotated[
            str | None, Field(description="As the program calls it.")
        ] = None,
        question: Annotated[
            str | None, Field(description='A word as "nan", or a sentence.')
        ] = None,
        first: _First = 0,
    ) -> dict[str, Any]:
        return await _read(lambda: recordings.why(recording, name, question, first))

    @server.tool(description=manual.NODE, annotations=_READS)
    async def node(
        recording: _Recording,
        node: Annotated[str, Field(description="Op, name, module, line or row.")],
        first: _First = 0,
    ) -> dict[str, Any]:
        return await _read(lambda: nodes(recording, node, first))

    @server.tool(description=manual.DIFF, annotations=_READS)
    async def diff(
        before: _Recording,
        after: Annotated[str | None, Field(description="A later recording.")] = None,
        passes: Annotated[
            list[int] | None,
            Field(
                description="Which backward pass of each, from 0 or, from the end, -1."
            ),
        ] = None,
        first: _First = 0,
    ) -> dict[str, Any]:
        return await _read(lambda: recordings.differences(before, after, passes, first))


def _read(answer: Callable[[], dict[str, Any]]) -> Awaitable[dict[str, Any]]:
    """Read a recording beside the protocol: a large one takes seconds."""
    return run_sync(_said, answer)


def _said(call: Callable[..., T], *given: Any, **named: Any) -> T:
    """Let our own errors reach the agent as their one sentence."""
    try:
        return call(*given, **named)
    except GradvizError as error:
        raise ToolError(str(error)) from None
