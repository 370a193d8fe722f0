"""Short, safe words for the parts of a snapshot; shared by every textual view.

Labels come from users' programs and from files of strangers: :func:`clean` makes them
harmless for a terminal (no control characters), for XML (only characters it allows) and
for the reader (no marks that reverse the direction of the text around them).
"""

from __future__ import annotations

import io
import math
import re
import tokenize
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import PurePath

from gradviz import ir

# Controls, surrogates, noncharacters, and the invisible marks that reorder a line.
_HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufeff\ufff9-\uffff]"
)


def clean(text: str, width: int = 0) -> str:
    """Return the text on one line, without harmful characters, at most that wide.

    >>> clean("a\\n\\x1b[31mb"), clean("tensor_with_a_long_name", 10)
    ('a \\\\x1b[31mb', 'tensor_wi…')
    """
    text = " ".join(text.split("\n"))
    text = _HARMFUL.sub(lambda found: ascii(found.group())[1:-1], text)
    return clip(text, width) if width else text


def clip(text: str, width: int) -> str:
    """Cut the text to that many columns, the last one an ellipsis if it was longer."""
    if columns(text) <= width:
        return text
    kept = ""
    room = width - 1
    for letter in text:
        room -= columns(letter)
        if room < 0:
            break
        kept += letter
    return kept + "…"


def columns(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (_is_wide(letter))
        for letter in text
    )


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the rows of a table as lines whose columns stand under each other.

    >>> list(aligned([("layer", "norm"), ("fc", "0.25")]))
    ['layer  norm', 'fc     0.25']
    """
    widths = [max(columns(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell + " " * (width - columns(cell))
            for cell, width in zip(row, widths, strict=True)
        ]
        yield "  ".join(cells).rstrip()


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WF"


def label(node: ir.OpNode) -> str:
    """Return what to call a node: the call the user wrote, or the leaf's name."""
    return node.call or node.name or "?"


def shape(tensor: ir.TensorMeta) -> str:
    """Return the shape as Python writes it; ``()`` is a scalar."""
    return str(tensor.shape)


def output_shape(snapshot: ir.Snapshot, node: ir.OpNode) -> str:
    """Return the shapes of what the node produced; "" if that was not recorded."""
    return ", ".join(shape(snapshot.tensors[tensor]) for tensor in node.outputs)


def scope_path(snapshot: ir.Snapshot, node: ir.OpNode) -> str:
    """Return the path of the module call that the node belongs to, "" at top level."""
    return "" if node.scope is None else snapshot.scopes[node.scope].path


def place(snapshot: ir.Snapshot, node: ir.OpNode) -> str:
    """Return "file:line" of the call, "" if it is not known."""
    return place_of_site(snapshot, node.site)


def place_of_site(snapshot: ir.Snapshot, row: int | None) -> str:
    """Return "file:line" of a site, "" if there is none."""
    if row is None:
        return ""
    site = snapshot.sites[row]
    source = None if site.source is None else snapshot.sources[site.source].label
    return f"{source or PurePath(site.file).name or site.file}:{site.line}"


def without_comments(code: str) -> str:
    """Return lines of a program without their comments, also of a part of a statement.

    >>> without_comments("y = f('#', x)  # as before")
    "y = f('#', x)"
    """
    if "#" not in code:
        return code
    lines = code.split("\n")
    with suppress(tokenize.TokenError, SyntaxError):  # the end of the part, at most
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.ERRORTOKEN:
                break  # a string that ends in a later line
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column].rstrip()
    return "\n".join(lines)


def source_line(snapshot: ir.Snapshot, node: ir.OpNode) -> str:
    """Return the first source line of the call, stripped; "" if it is not known."""
    if node.site is None:
        return ""
    lines = snapshot.sites[node.site].text.strip().splitlines()
    return lines[0].strip() if lines else ""


def gradients(snapshot: ir.Snapshot) -> list[list[ir.Statistics]]:
    """Return for every node the statistics of the gradients that reached it.

    A node lists them itself; a leaf, which has no backward function to enter, gets
    those of the edges that leave it.
    """
    found = [
        [snapshot.statistics[row] for row in node.grad_outputs if row >= 0]
        for node in snapshot.nodes
    ]
    fromed: list[list[ir.Statistics]] = [[] for _ in snapshot.nodes]
    for edge in snapshot.edges:
        if edge.gradient is not None:
            fromed[edge.source].append(snapshot.statistics[edge.gradient])
    return [own or edges for own, edges in zip(found, fromed, strict=True)]


def is_bad(stats: list[ir.Statistics]) -> bool:
    """Tell whether any of the arrays held a NaN or an Inf."""
    return any(each.nans or each.infs for each in stats)


def gradient(stats: list[ir.Statistics]) -> str:
    """Return the norm of the gradients taken together, with NaN and Inf marked.

    >>> gradient([ir.Statistics(3, norm=0.5, nans=2)])
    '0.5 NaN×2'
    """
    norms = [each.norm for each in stats if each.norm is not None]
    words = [number(math.hypot(*norms))] if norms else []
    nans = sum(each.nans for each in stats)
    infs = sum(each.infs for each in stats)
    if nans:
        words.append(f"NaN×{nans}")
    if infs:
        words.append(f"Inf×{infs}")
    return " ".join(words)


def number(value: float) -> str:
    """Return a number in at most four significant digits."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return f"{value:.4g}"


def size(nbytes: int) -> str:
    """Return a size in bytes in at most three significant digits.

    >>> size(640), size(1_536), size(3 << 30)
    ('640 B', '1.5 KiB', '3 GiB')
    """
    value, unit = float(nbytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def summary(snapshot: ir.Snapshot) -> str:
    """Return one sentence: how much was recorded."""
    nodes, edges = len(snapshot.nodes), len(snapshot.edges)
    total = sum(node.count for node in snapshot.nodes)
    drawn = f" (drawn as {nodes:,})" if total > nodes else ""
    graph = [counted(total, "node") + drawn, counted(edges, "edge")]
    others = (len(snapshot.tensors), "tensor"), (len(snapshot.events), "event")
    return ", ".join(
        [
            *(graph if nodes else ["no operation with a gradient"]),
            *[counted(count, noun) for count, noun in others if count],
        ]
    )


def counted(count: int, noun: str) -> str:
    """Return "1 node", "2 nodes", "3 passes"."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def scaled(count: int) -> str:
    """Return a large count in at most three significant digits.

    >>> scaled(640), scaled(1_536), scaled(3_000_000_000)
    ('640', '1.54 K', '3 G')
    """
    value, unit = float(count), ""
    for larger in ("K", "M", "G", "T", "P"):
        if value < 1000:
            break
        value, unit = value / 1000, f" {larger}"
    return f"{value:.0f}{unit}" if value >= 100 else f"{value:.3g}{unit}"


def duration(elapsed_ns: int) -> str:
    """Return a time in nanoseconds in at most three significant digits.

    >>> duration(640), duration(1_536_000), duration(90_000_000_000)
    ('640 ns', '1.54 ms', '90 s')
    """
    value, unit = float(elapsed_ns), "ns"
    for larger in ("µs", "ms", "s"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
