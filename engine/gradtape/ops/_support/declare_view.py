"""Declaring views: geometry, raw kernel and derivative in one block.

A view shares memory, so what matters is where it lies. NumPy's own views differ from
PyTorch's in strides of dimensions of size 0 and 1, so on tensors the geometry decides;
the kernel serves the derivatives, which run on raw arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._backend import backend_of
from ..._common.compiled import compiled
from ..._dispatch.declare import FUNCTIONS, OPS, compile_function, tensor_ops
from ..._dispatch.operands import argument_error
from ..._dispatch.recording import place, record
from ..._dispatch.strided_views import Geometry, geometry_of
from ..._graph.node import Node, new_object, shared
from ..._graph.observe import OpCalled, notify, observers
from ..._graph.op import Derivative, Kernel, Op
from ..._graph.output_layout import layout_of
from ..._modes.grad_mode import mode
from ..._overrides.torch_dispatch import (
    adopt,
    answer,
    asked,
    by_classes,
    dispatching,
    shares_memory,
)
from ..._overrides.torch_function import ask, of_class
from ..._sparse.array import NoMemoryError
from ..._storage.storage import InferenceStorage, inference_storage
from ..._tensor.tensor import (
    Tensor,
    edge_of,
    kind_now,
    plain_types,
    view_info,
    wrap,
    wrap_shared,
)
from .operands import hidden_op

Geometric = Callable[..., Geometry]


def view_op(
    geometry: Geometric,
    derivatives: Mapping[str | tuple[str, ...], Derivative],
    *,
    method: bool = True,
    function: bool = True,
    part: bool = False,
    **facts: Any,
) -> Callable[[Kernel], Callable[..., Tensor]]:
    """Declare a view whose place ``geometry(where, *options)`` computes.

    The decorated function is the kernel for raw arrays. The derivative of a ``part``
    puts its gradient into zeros: where others have arrived, it may as well be added to
    the same part of them, without any zeros.
    """

    def declare(kernel: Kernel) -> Callable[..., Tensor]:
        hidden_op(derivatives, view="", **facts)(kernel)
        name = facts.get("key", facts.get("name", kernel.__name__))
        found = OPS[name]

        node_type, keeps_shape = found.node_type, bool(found.metas)
        if part:
            node_type.part = staticmethod(kernel)

        def execute(_op: Op, args: tuple[Any], options: tuple[Any, ...]) -> Tensor:
            now = mode.now
            if now.profile is not None:
                return now.profile.op(execute, _op, args, options)
            source = args[0]
            if not isinstance(source, Tensor):
                raise argument_error(_op, "self", 1, source)
            if type(source) not in plain_types and now.overrides:
                return ask([type(source)], execute, _op, args, options)
            following = edge_of(source) if now.grad else None  # or refuses first
            kinds = asked(args) if now.dispatch or dispatching else None
            if kinds is not None:
                view = answer(execute, _op, args, options, kinds)
                if shares_memory(view, source):
                    view = look(source, geometry_of(view))
                else:
                    adopt(view, source)
            else:
                try:
                    view = look(source, geometry(geometry_of(source), *options))
                except NoMemoryError:  # sparse: no view, but perhaps a moved copy
                    view = wrap(kernel(np, source._data, *options))
            node = None
            if following is not None:  # as record() does, for one input
                node = new_object(node_type)
                node.nodes, node.numbers = (following,), shared((source._nr,))
                node.saved = ()
                node.params = (*options, source._data.shape) if keeps_shape else options
                place(node, view, now)
                if kinds:
                    by_classes.add(node)
            if now.duals is not None:
                now.duals.viewed(_op, source, (view,), options)
            if observers:
                notify(OpCalled(_op.name, (source, *options), (view,), node))
            return view

        call = compile_function(found, name, execute)
        call.__doc__ = found.doc
        setattr(tensor_ops, name, call)
        if method:
            setattr(Tensor, name, call)
        if function:
            FUNCTIONS[name] = call
        return call

    return declare


def composed(kernel: Kernel) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function composed of ops serve in derivatives, under its own name.

    ``kernel`` does the same on raw arrays; it is what ``backward()`` runs.
    """

    def install(function: Callable[..., Any]) -> Callable[..., Any]:
        hidden_op({}, name=function.__name__)(kernel)
        setattr(tensor_ops, function.__name__, function)
        return function

    return install


def look(source: Tensor, at: Geometry, kind: str = "", array: Any = None) -> Tensor:
    """Make a tensor that sees the memory of ``source`` as ``at`` says.

    ``array`` is given where the elements are of another dtype than the source's.
    """
    storage = source._storage
    if array is None:
        array = _array_at(storage.owner, source._data.dtype, at)
    view = wrap_shared(array, storage)
    if storage.inference:
        view._view = view_info(None, at.offset, "", 0)
        if type(storage) is not InferenceStorage:
            view._memory = inference_storage(storage.owner)
        return view
    info = source._view
    base = source if info is None or info.base is None else info.base
    if not mode.now.grad:
        kind = kind_now()
    if info is not None and info.kind and (not kind or info.kind == "inference"):
        kind = info.kind  # what must not be written stays so, seen through a view
    view._view = view_info(base, at.offset, kind, storage.version)
    if info is not None and info.steps:
        view._view.steps = (*info.steps, ("", at))
    return view


def look_at_parts(
    source: Tensor, dim: int, parts: Sequence[tuple[int, int | slice]], kind: str
) -> tuple[Tensor, ...] | None:
    """Make the tensors that see parts of one dimension of ``source``, all at once.

    A part is the position where it begins and the index that takes it. None for what
    does not lie in memory as NumPy's arrays do: :func:`look` serves it.
    """
    data, storage, info, now = source._data, source._storage, source._view, mode.now
    plain = type(data) is np.ndarray and data.size and not storage.inference
    if not plain or (info is not None and (info.steps or info.kind)):
        return None
    base = source if info is None or info.base is None else info.base
    first = 0 if info is None else info.offset
    kind = kind if now.grad else kind_now()
    step = data.strides[dim] // data.itemsize
    lead = (slice(None),) * dim
    version = storage.version
    views: list[Tensor] = []
    for start, index in parts:
        at = (*lead, index, ...)
        view = wrap_shared(data[at], storage)
        view._view = view_info(base, first + start * step, kind, version)
        views.append(view)
    return tuple(views)


def _array_at(owner: Any, wanted: Any, at: Geometry) -> Any:
    """Return an array over the memory of ``owner``, of dtype ``wanted``."""
    if type(owner) is np.ndarray and owner.dtype is wanted and owner.flags.forc:
        size, stride, offset = at  # the common case: no array between this one and that
        item = owner.itemsize
        start = 0 if 0 in size else offset * item
        return np.ndarray(size, wanted, owner, start, tuple([s * item for s in stride]))
    backend = backend_of(owner)
    flat = backend.flat(owner)
    if flat.dtype is not wanted:
        raw = flat.view("uint8")  # whose end may be half an element
        flat = raw[: len(raw) // wanted.itemsize * wanted.itemsize].view(wanted)
    return backend.strided(flat, *at)


def recorded(
    declared: Op, source: Tensor, views: tuple[Tensor, ...], options: tuple[Any, ...]
) -> tuple[Tensor, ...]:
    """Record the node that made ``views``, tell the observers, and return them."""
    node, now = None, mode.now
    kinds = asked((source,)) if now.dispatch or dispatching else None
    if kinds is not None:
        views = _answered(declared, source, views, options, kinds)
    if now.grad:
        following = edge_of(source)  # a view whose history was lost is refused
        if views and now.inference_leaves:
            node = record(declared, (source,), options, views)
        elif views and following is not None:
            node = _node_of_all(declared, following, source, views, options)
    if kinds and node is not None:
        by_classes.add(node)
    if now.duals is not None:
        now.duals.viewed(declared, source, views, options)
    if observers:
        notify(OpCalled(declared.name, (source, *options), views, node))
    return views if type(source) in plain_types else of_class(source, views)


def _answered(
    declared: Op,
    source: Tensor,
    views: tuple[Tensor, ...],
    options: tuple[Any, ...],
    kinds: list[type],
) -> tuple[Tensor, ...]:
    """Let modes and classes answer; ``views`` are what the op itself gives."""
    single = declared.outputs == 1

    def run(op: Op, args: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
        if args[0] is source:
            return views[0] if single else views
        function = FUNCTIONS.get(op.name) or getattr(Tensor, op.name)
        return function(*args, *params)

    found = answer(run, declared, (source,), options, kinds)
    found = (found,) if single else tuple(found)
    if not found or shares_memory(found[0], source):
        return views
    for view in found:
        adopt(view, source, "multi_output" if len(found) > 1 else "")
    return found


def _node_of_all(
    declared: Op,
    following: Node,
    source: Tensor,
    views: tuple[Tensor, ...],
    options: tuple[Any, ...],
) -> Node:
    """Do as record() does, for one input and views of one memory."""
    node = new_object(declared.node_type)
    node.nodes, node.numbers = (following,), shared((source._nr,))
    node.saved = ()
    node.params = (*options, source._data.shape) if declared.metas else options
    place(node, views[0], mode.now)
    if len(views) > 1:
        node.layout, node.several = None, tuple([layout_of(v._data) for v in views])
        node.storage_ids = (source._storage.id,) * len(views)
        for number, view in enumerate(views):
            view._grad_fn, view._nr, view._needs = node, number, True
    return node


_array_at = compiled(_array_at)
look = compiled(look)
look_at_parts = compiled(look_at_parts)
_node_of_all = compiled(_node_of_all)
recorded = compiled(recorded)
