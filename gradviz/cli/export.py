"""``gradviz export``: turn a recording into another file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from gradviz.cli.arguments import RECORDING
from gradviz.errors import ExportError

_EXPORT = """\
Writes a recording in another form, which the ending of OUT says, and prints where: a
page to look at, a picture, the graph in Graphviz's language, data, or text.
"""


def add_export(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to the others."""
    export = commands.add_parser(
        "export", help="turn a recording into another file", description=_EXPORT
    )
    export.add_argument("snapshot", metavar="SNAPSHOT", help=RECORDING)
    export.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="OUT.{html,svg,dot,json,txt,png,pdf}",
        help="the file to write; png and pdf are drawn by Graphviz, where it is there",
    )
    export.add_argument(
        "--format",
        metavar="FORM",
        help="one of these, whatever the file is called, or model-explorer: JSON for "
        "Google's Model Explorer",
    )
    export.set_defaults(execute=_export)


def _export(options: argparse.Namespace) -> int:
    from gradviz.export import FORMS, write_as
    from gradviz.snapshots import load

    output: Path = options.output
    form = (options.format or output.suffix.removeprefix(".")).lower()
    if form not in FORMS:
        known = ", ".join(FORMS)
        if options.format:
            raise ExportError(f"{options.format} is no format; there are {known}.")
        raise ExportError(
            f"{output} must end in one of {', '.join(f'.{name}' for name in FORMS)}; "
            "or name one with --format."
        )
    print(write_as(form, load(options.snapshot), output).resolve())
    return 0
