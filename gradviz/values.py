"""The numbers of a tensor that the program still holds, as a view asks for them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from types import EllipsisType
from typing import Any

import numpy as np

from gradviz import ir
from gradviz._capture.adapters.pytorch.saved_attributes import is_hooked
from gradviz._capture.names.tensors import grad_fn_of, kept_tensors
from gradviz._capture.names.user_code import probing
from gradviz.errors import CaptureError
from gradviz.services import Request, State
from gradviz.stepping.graph import leaf_of
from gradviz.supposing.rows import Rows

MOST_NUMBERS = 1000
"""Of more, the first and the last three along each dimension are shown."""

_WIDE = 72  # characters in a line
_GONE = (
    "the program holds none of these values any more: keep the tensor in a variable, "
    "or look before backward() frees what the graph saved"
)
_NO_INDEX = "an index is numbers and slices, as in 0, :, 3:8; got {!r:.60}"

Index = tuple[int | slice | EllipsisType | None, ...]
Find = Callable[[], tuple[Any, ir.Snapshot, Iterable[Any]]]
"""Finds the loss, the snapshot whose rows the view knows, and tensors still held."""


class ValuesService:
    """Shows what one node gave, or a part of it; nothing of the program changes."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._state: State = {"node": None, "index": "", "shown": []}

    def state(self) -> State:
        """Return the node and the index that were asked for, and numbers as text."""
        return self._state

    def answer(self, request: Request) -> None:
        """Look up the values of a node, and its gradient where one is kept."""
        row, index = request["node"], str(request.get("index", ""))
        self._state = {"node": row, "index": index, "shown": []}
        at = parsed_index(index)
        loss, snapshot, held = self._find()
        with probing():
            shown = [
                {"name": name, "text": numbers(tensor, at)}
                for name, tensor in _named(_outputs(loss, snapshot, row, held))
            ]
        if not shown:
            raise CaptureError(_GONE)
        self._state["shown"] = shown


def parsed_index(text: str) -> Index:
    """Return what stands between the brackets of an index; raises ValueError.

    >>> parsed_index("0, :, 3:8, ...")
    (0, slice(None, None, None), slice(3, 8, None), Ellipsis)
    """
    if not text.strip():
        return ()
    try:
        found = ast.parse(f"x[{text}]", mode="eval").body
        if isinstance(found, ast.Subscript) and isinstance(found.value, ast.Name):
            parts = found.slice
            each = parts.elts if isinstance(parts, ast.Tuple) else [parts]
            return tuple([_part(part) for part in each])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    raise ValueError(_NO_INDEX.format(text))


def _part(part: ast.expr) -> int | slice | EllipsisType | None:
    if not isinstance(part, ast.Slice):
        value = ast.literal_eval(part)
        if value is None or value is ... or type(value) is int:
            return value
        raise ValueError
    ends = [None if end is None else _part(end) for end in _ends(part)]
    if all(end is None or isinstance(end, int) for end in ends):
        return slice(*ends)
    raise ValueError


def _ends(part: ast.Slice) -> tuple[ast.expr | None, ...]:
    return part.lower, part.upper, part.step


def _outputs(
    loss: Any, snapshot: ir.Snapshot, row: int, held: Iterable[Any]
) -> list[Any]:
    """Return the outputs of a node that can be had, in order."""
    rows = Rows(snapshot, loss.grad_fn)
    node = rows.output(row).node
    leaf = leaf_of(node)
    if leaf is not None:
        return [leaf]
    found: dict[int, Any] = {}
    for tensor in _held(loss, rows.nodes(), held):
        if grad_fn_of(tensor) is node:
            found.setdefault(tensor.output_nr, tensor)
    return [tensor for _, tensor in sorted(found.items())]


def _held(loss: Any, nodes: Iterable[Any], held: Iterable[Any]) -> Iterator[Any]:
    """Yield what variables hold before what the graph saved: those have a `.grad`."""
    yield loss
    yield from held
    for node in nodes:
        if not _is_hooked(node):
            yield from kept_tensors(node)


def _is_hooked(node: Any) -> bool:
    """Whether unpacking what a node saved would run code of the program."""
    raws = (getattr(node, name) for name in dir(node) if name.startswith("_raw_saved_"))
    return any(is_hooked(raw) for raw in raws)


def _named(outputs: list[Any]) -> Iterator[tuple[str, Any]]:
    for number, tensor in enumerate(outputs):
        name = f"output {number}" if len(outputs) > 1 else "value"
        yield name, tensor
        kept = tensor.is_leaf or tensor.retains_grad
        if kept and tensor.grad is not None:
            yield "gradient", tensor.grad


def numbers(tensor: Any, at: Index) -> str:
    """Return a tensor, or the part at an index, as NumPy would print it.

    Raises IndexError where the index does not fit.
    """
    part = tensor.detach()[at]
    if "bfloat16" in str(part.dtype):  # which NumPy does not know
        part = part.float()
    array = part.cpu().resolve_conj().resolve_neg().numpy()
    text = np.array2string(
        array,
        max_line_width=_WIDE,
        precision=6,
        separator=", ",
        threshold=MOST_NUMBERS,
        edgeitems=3,
    )
    dtype = str(tensor.dtype).rpartition(".")[2]
    return f"{dtype} {tuple(part.shape)}\n{text}"
