"""What becomes of the tensors that a user's forward returns: history, views, writes."""

from __future__ import annotations

import warnings
from collections.abc import Container, Sequence
from typing import Any

from ..._common.site import user_stacklevel
from ..._dispatch.inplace import note_write
from ..._dispatch.view_history import check_inplace, keep_retaining, rebase_history
from ..._graph.node import Node, SavedTensor, save_input, save_output
from ..._graph.output_layout import Layout, layout_of
from ..._modes.grad_mode import mode, no_grad
from ..._saved.hooks import pack
from ..._tensor.subclasses import dispatching
from ..._tensor.tensor import Tensor, plain_types, wrap_alias, wrap_view
from .node import CustomNode, set_saved

_LEAF_WRITTEN = (
    "a leaf Variable that requires grad has been used in an in-place operation."
)
_DIRTY_STRANGER = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that "
    "have been mutated should be passed to ctx.mark_dirty()."
)
_DIRTY_LOST = (
    "Some elements marked as dirty during the forward method were not returned as "
    "output. The inputs that are modified inplace must all be outputs of the Function."
)
_DIRTY_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your "
    "Function cannot return more than one Tensor. This is not supported by the current "
    "autograd engine. You should either make sure the input is not a view (using "
    ".clone() for example) or make your Function only return one Tensor (potentially "
    "splitting it into two Functions: one doing the inplace that returns a single "
    "Tensor and a second one that does the other operations). You can ask on the forum "
    "https://discuss.pytorch.org/ if you need help to do this change."
)
_SAVED_AS_IS = (
    "An input that has been returned as-is as output is being saved for backward. This "
    "is not supported if you override setup_context. You should return and save a view "
    "of the input instead, e.g. with x.view_as(x) or setup ctx inside the forward "
    "function itself."
)
_NOT_A_TUPLE = (
    "autograd internal error: {name} attribute is expected to be a tuple but is {kind}"
)


def settle(
    node: CustomNode,
    inputs: Sequence[Tensor],
    returned: tuple[Any, ...],
    recording: bool,
    kept: Sequence[Any],
) -> tuple[tuple[Any, ...], set[int], set[int]]:
    """Give what forward returned its history.

    ``kept`` is what was saved, where an input returned as it is must not be. Returns
    the outputs, and the ids of what was marked: as dirty, as not differentiable.
    """
    if (
        len(returned) == 1
        and recording
        and node.dirty_tensors is None
        and node.non_differentiable is None
    ):
        output = returned[0]
        if (  # the commonest case: one new tensor
            isinstance(output, Tensor)
            and output._view is None
            and output._data.dtype.kind in "fcV"
            and id(output) not in [id(each) for each in inputs]
        ):
            layout = layout_of(output._data)
            set_gives(node, (layout,))
            set_layout(node, layout)
            if output._memory is not None:
                set_storage_ids(node, output._memory.id)
            output._grad_fn, output._nr, output._needs = node, 0, True
            return returned, _NO_IDS, _NO_IDS
    settling = Settling(node, inputs, recording, kept)
    return settling.all(returned), settling.dirty, settling.silent


_NO_IDS: set[int] = set()


class Settling:
    """The outputs of one call on their way to the user."""

    __slots__ = ("dirty", "inputs", "kept", "node", "recording", "silent")

    def __init__(
        self,
        node: CustomNode,
        inputs: Sequence[Tensor],
        recording: bool,
        kept: Sequence[Any],
    ) -> None:
        self.node = node
        self.recording = recording
        self.inputs = {id(t) for t in inputs}
        self.silent = {id(t) for t in _marked(node, "non_differentiable")}
        dirty = _marked(node, "dirty_tensors")
        for tensor in dirty:
            note_write(tensor, node.op_name)
        self.dirty = {id(t) for t in dirty}
        self.kept = {id(t) for t in kept}  # saved, where an input must not be

    def all(self, returned: Sequence[Any]) -> tuple[Any, ...]:
        """Return the outputs with their history; what is no tensor stays as it is."""
        outputs: list[Any] = []
        silent: list[int] = []
        carrying = 0
        describe(self.node, returned)
        for number, each in enumerate(returned):
            if not isinstance(each, Tensor):
                outputs.append(each)
                continue
            differentiable = (
                self.recording
                and id(each) not in self.silent
                and each._data.dtype.kind in "fcV"
            )
            if differentiable:
                carrying += 1
            else:
                silent.append(number)
            outputs.append(self.one(each, number, differentiable, len(returned)))
        if carrying > 1:
            for output in outputs:
                if isinstance(output, Tensor) and _is_view(output):
                    output._view.kind = "multi_output"  # type: ignore[union-attr]
        if self.dirty and not self.dirty.issubset(map(id, returned)):
            raise RuntimeError(_DIRTY_LOST)
        if silent:
            self.node._silent = frozenset(silent)
        return tuple(outputs)

    def one(
        self, tensor: Tensor, number: int, differentiable: bool, count: int
    ) -> Tensor:
        """Return what stands for one returned tensor, with its place in the graph."""
        is_input, is_dirty = id(tensor) in self.inputs, id(tensor) in self.dirty
        if not differentiable:
            found = self._cut(tensor, is_input, is_dirty)
        elif is_dirty:
            self._written(tensor, number, is_input, count)
            found = tensor
        else:
            found = self._same_memory(tensor) if is_input else tensor
            attach(self.node, found, number)
        if _is_view(found) and not (is_input and is_dirty):
            found._view.kind = (  # type: ignore[union-attr]
                "" if self.node._is_pure_view else "custom_function"
            )
        return found

    def _cut(self, tensor: Tensor, is_input: bool, is_dirty: bool) -> Tensor:
        """Return an output that carries no gradient."""
        if not tensor.requires_grad:
            return self._same_memory(tensor) if is_input and not is_dirty else tensor
        if is_input:
            return wrap_alias(tensor._data, tensor)
        if not _is_view(tensor):  # a view of an input stays as no_grad leaves it
            tensor._grad_fn, tensor._nr, tensor._needs = None, 0, False
        return tensor

    def _same_memory(self, tensor: Tensor) -> Tensor:
        """Return a view of an input that is returned as it is."""
        if id(tensor) in self.kept:
            raise RuntimeError(_SAVED_AS_IS)
        if type(tensor) in dispatching:
            with no_grad():
                return tensor.view_as(tensor)  # type: ignore[attr-defined]
        found = wrap_view(tensor._data, tensor)
        if type(tensor) not in plain_types:
            found.__class__ = type(tensor)
        return found

    def _written(self, tensor: Tensor, number: int, is_input: bool, count: int) -> None:
        """Make the node the history of an input that forward wrote to."""
        if tensor._grad_fn is None and tensor.requires_grad:
            raise RuntimeError(_LEAF_WRITTEN)
        if not is_input:
            warnings.warn(_DIRTY_STRANGER, UserWarning, stacklevel=user_stacklevel())
        if _is_view(tensor):
            if count > 1:
                raise RuntimeError(_DIRTY_VIEW)
            check_inplace(tensor, True)
        tensor._grad = None
        if tensor._extra is not None:
            tensor._extra.hooks = None
            tensor._extra.accumulator = None
        if _is_view(tensor):
            node = self.node
            mine = node.seq, node.extra  # as when forward began
            rebase_history(tensor, node)
            node.seq, node.extra = mine
        else:
            old = tensor._grad_fn, tensor._nr
            attach(self.node, tensor, number)
            keep_retaining(tensor, *old)


def describe(node: CustomNode, returned: Sequence[Any]) -> None:
    """Write down how the outputs lie in memory."""
    gives = [layout_of(t._data) if isinstance(t, Tensor) else None for t in returned]
    set_gives(node, tuple(gives))
    if len(gives) == 1:
        set_layout(node, gives[0] or _NOTHING)
        memory = returned[0]._memory if isinstance(returned[0], Tensor) else None
        if memory is not None:
            set_storage_ids(node, memory.id)
        return
    set_several(node, tuple([_NOTHING if each is None else each for each in gives]))
    ids = [t._storage.id if isinstance(t, Tensor) else 0 for t in returned]
    set_storage_ids(node, tuple(ids))


def attach(node: CustomNode, tensor: Tensor, number: int) -> None:
    """Make ``tensor`` output ``number`` of ``node``."""
    tensor._grad_fn, tensor._nr, tensor._needs = node, number, True
    if tensor._view is not None:  # its history is right as of now
        tensor._view.version = tensor._storage.version


def to_keep(node: CustomNode) -> list[Tensor | None]:
    """Return what ``save_for_backward`` was given; refuse what is no tensor."""
    given: Any = node.to_save
    if given is None:
        return []
    if not isinstance(given, tuple):
        kind = type(given).__name__
        raise RuntimeError(_NOT_A_TUPLE.format(name="to_save", kind=kind))
    for position, each in enumerate(given):
        if each is not None and not isinstance(each, Tensor):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {position} "
                f"is of type {type(each).__name__}"
            )
    return list(given)


def keep(
    node: CustomNode, tensors: Sequence[Tensor | None], dirty: Container[int]
) -> None:
    """Save tensors for backward, outputs as bare memory: they would hold the node.

    ``dirty`` has the ids of what forward wrote to: outputs, too, although the node of
    a written view is not this one but leads to it.
    """
    entries: list[SavedTensor | None] = []
    numbers: list[int | None] = []
    packing = mode.now.packing
    for tensor in tensors:
        if tensor is None:
            entries.append(None)
            numbers.append(None)
            continue
        is_output = tensor._grad_fn is node or id(tensor) in dirty
        numbers.append(tensor._nr if is_output else None)
        if packing:
            packed = pack(tensor, packing[-1], is_output=is_output, node=node)
            entries.append(packed)
        else:
            entries.append(save_output(tensor) if is_output else save_input(tensor))
    set_kept_numbers(node, tuple(numbers))
    set_saved(node, tuple(entries) or _KEPT_NOTHING)
    set_to_save(node, None)


_KEPT_NOTHING = (None,)
"""Not empty, so that the loop calls free() and a later look at it is refused."""


def _marked(node: CustomNode, name: str) -> tuple[Tensor, ...]:
    """Return what the user marked, and forget it."""
    marked = getattr(node, name)
    if marked is None:
        return ()
    if not isinstance(marked, tuple):
        kind = type(marked).__name__
        raise RuntimeError(_NOT_A_TUPLE.format(name=name, kind=kind))
    for position, each in enumerate(marked):
        if not isinstance(each, Tensor):
            kind = type(each).__name__
            raise RuntimeError(_NOT_TENSORS[name].format(position=position, kind=kind))
    delattr(node, name)
    return marked


_NOT_TENSORS = {
    "dirty_tensors": (
        "mark_dirty can only accept variables, but argument {position} is of type "
        "{kind}"
    ),
    "non_differentiable": (
        "mark_non_differentiable only accepts variable arguments, but got {kind}"
    ),
}


def _is_view(tensor: Tensor) -> bool:
    view = tensor._view
    return view is not None and view.base is not None


def _nothing() -> Layout:
    import numpy as np

    return layout_of(np.empty(0, np.float32))


_NOTHING = _nothing()
"""Stands for an output that is no tensor; no gradient arrives there."""

# The slots' own setters: quicker than telling the engine's writes from the user's.
set_gives = CustomNode._gives.__set__  # type: ignore[attr-defined]
set_kept_numbers = CustomNode._numbers.__set__  # type: ignore[attr-defined]
set_to_save = CustomNode.to_save.__set__  # type: ignore[attr-defined]
set_layout = Node.layout.__set__  # type: ignore[attr-defined]
set_several = Node.several.__set__  # type: ignore[attr-defined]
set_storage_ids = Node.storage_ids.__set__  # type: ignore[attr-defined]
