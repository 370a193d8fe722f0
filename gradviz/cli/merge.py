"""``gradviz merge``: the ranks of one training side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from gradviz.cli.arguments import wants_color

_MERGE = """\
Says which processes of one training are not like the others, and since which step: by
their weights, their averaged gradients, a gradient that is missing, NaN or far larger,
their size or their lines, which stopped early (with its error), and of which there is
no file. Then it prints them side by side: how long their steps take and who waits, and
their gradients before and after they were averaged. Each process writes a file of its
own: `gradviz.watch(model)` does so under torchrun, and so does `gradviz run`.

    torchrun --nproc-per-node 4 -m gradviz run train.py
    gradviz merge train-rank*.json -o ranks.html

Hundreds of files are read one after the other; ranks that agree share one row.
"""


def add_merge(commands: Any) -> None:
    """Add the command to the others."""
    merge = commands.add_parser(
        "merge",
        help="show the ranks of a training side by side",
        description=_MERGE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
    from gradviz.flow.rank_text import ranks_text, verdict_text
    from gradviz.text.findings import findings_text

    output: Path | None = options.output
    form = "" if output is None else output.suffix.removeprefix(".").lower()
    if output is not None and form not in FORMS:
        raise ExportError(f"{output} must end in .html or .json.")
    merged = merge(options.files, title=options.title)
    print(verdict_text(merged), "", sep="\n")
    found = findings_text(merged, color=wants_color(sys.stdout), limit=20)
    if found:
        print(found, "", sep="\n")
    print(ranks_text(merged))
    if output is not None:
        print(write_as(form, merged, output).resolve())
    return int(any(finding.severity == "error" for finding in merged.findings))
