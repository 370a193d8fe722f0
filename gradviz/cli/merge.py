"""``gradviz merge``: the ranks of one training side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from gradviz.cli.arguments import wants_color

_MERGE = """\
Prints the processes of one training side by side: how long their steps take and who
waits, the gradients of each before and after they were averaged, and what differs
although it should not. Each process writes a file of its own: `gradviz.watch(model)`
and `gradviz run` do so under torchrun.
"""


def add_merge(commands: Any) -> None:
    """Add the command to the others."""
    merge = commands.add_parser(
        "merge",
        help="show the ranks of a training side by side",
        description=_MERGE,
    )
    merge.add_argument(
        "files", nargs="+", metavar="FILE", help="what each rank wrote: JSON or pages"
    )
    merge.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT.{html,json}",
        help="write all of it as one page, or as one file of data",
    )
    merge.add_argument("--title", metavar="T", default="", help="the title of the page")
    merge.set_defaults(execute=_merge)


def _merge(options: argparse.Namespace) -> int:
    """Print the comparison, write the file; return 1 if something is wrong."""
    from gradviz.analysis.merge import merge
    from gradviz.errors import ExportError
    from gradviz.export import FORMS, write_as
    from gradviz.flow.ranks import ranks_text
    from gradviz.text.findings import findings_text

    output: Path | None = options.output
    form = "" if output is None else output.suffix.removeprefix(".").lower()
    if output is not None and form not in FORMS:
        raise ExportError(f"{output} must end in .html or .json.")
    merged = merge(options.files, title=options.title)
    print(ranks_text(merged))
    found = findings_text(merged, color=wants_color(sys.stdout), limit=20)
    print("", found or "The ranks agree.", sep="\n")
    if output is not None:
        print(write_as(form, merged, output).resolve())
    return int(any(finding.severity == "error" for finding in merged.findings))
