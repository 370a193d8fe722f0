"""Snapshots of what users hand over: tensors, recorders, and files of ours."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import cast

from gradviz import ir
from gradviz._providers import provided
from gradviz.errors import SnapshotError
from gradviz.ir import columns as ir_columns
from gradviz.ir import json as ir_json
from gradviz.ir.bounds import MAX_FILE, check_file
from gradviz.ir.validate import validate
from gradviz.text.progress import Progress

PathLike = str | os.PathLike[str]

DATA_ID = "gradviz-data"  # of the element of a page that holds the data

# What a path can raise: the system's answer, a NUL in it, or ~ for a user who is none.
UNUSABLE = (OSError, ValueError, RuntimeError)


def as_snapshot(x: object) -> ir.Snapshot:
    """Return the snapshot that ``x`` is, holds or leads to."""
    if not isinstance(x, ir.Snapshot):
        method = getattr(x, "snapshot", None)
        with Progress() as progress:
            progress.says("making the picture of a graph")
            x = method() if callable(method) else provided("capture")(x)
    snapshot = cast("ir.Snapshot", x)
    validate(snapshot)
    return snapshot


def load(path: PathLike) -> ir.Snapshot:
    """Return the snapshot in a file: JSON, columns, or a page made by export_html.

    Raises SnapshotError, with one sentence, if there is none.

    >>> import torch, gradviz
    >>> x = torch.ones(2, requires_grad=True)
    >>> path = gradviz.export_json((x * x).sum(), "graph.gradviz.json")
    >>> [node.name for node in gradviz.load(path).nodes]
    ['AccumulateGrad', 'MulBackward0', 'SumBackward0']
    """
    path = Path(path)
    try:
        path = path.expanduser()
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            # A pipe has no size; one byte more than allowed is enough to see it.
            data = b"" if size > MAX_FILE else file.read(size or MAX_FILE + 1)
        check_file(max(size, len(data)))
    except SnapshotError as error:
        raise SnapshotError(f"{path}: {error}") from None
    except UNUSABLE as error:
        raise SnapshotError(f"{path} cannot be read: {reason(error)}.") from None
    try:
        if data.startswith(ir_columns.MAGIC):
            return ir_columns.decode(data)
        if data[:1] == b"x":  # the first byte of every deflated stream
            return ir_columns.unpack(data)
        if data.lstrip()[:1] == b"<":
            return ir_columns.unpack(packed_data(data.decode("utf-8")))
        return ir_json.loads(data)
    except SnapshotError as error:
        raise SnapshotError(f"{path}: {error}") from None
    except ValueError:
        raise SnapshotError(
            f"{path}: This is not a page made by gradviz, or only part of one."
        ) from None
    except MemoryError:
        raise SnapshotError(
            f"{path}: There is not enough memory to read this snapshot."
        ) from None


def packed_data(page: str) -> bytes:
    """Return the deflated columns inside a page that :func:`gradviz.export_html` made.

    Raises ValueError if there are none.
    """
    _, found, rest = page.partition(f' id="{DATA_ID}">')
    data, ended, _ = rest.partition("</script>")
    if not (found and ended):
        raise ValueError("not a page of gradviz")
    return base64.b64decode(data, validate=True)


def reason(error: Exception) -> str:
    """Return the system's words for an error, in the middle of a sentence."""
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return words[:1].lower() + words[1:]
