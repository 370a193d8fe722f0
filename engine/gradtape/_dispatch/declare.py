"""Declaring ops: one block makes function, method, raw kernel and backward node.

See ``_graph/op.py`` for how a declaration is read. Two op namespaces come out of it:
``raw_ops(array)`` over raw arrays and ``tensor_ops`` over tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from .._backend import backend_of
from .._graph.node import Node, SavedTensor
from .._graph.op import Array as Array
from .._graph.op import Arrays as Arrays
from .._graph.op import (
    Check,
    Derivative,
    Family,
    Kernel,
    Op,
    Operand,
    Promotion,
    read_op,
    saving_order,
)
from .._graph.registry import FUNCTIONS, OPS
from .._modes.grad_mode import mode
from .._saved.hooks import Packing, unpack_tensor
from .._saved.slots import slots_for
from .._tensor.tensor import Tensor, wrap_shared
from .derivative import bind_run, check_version, modified_error
from .direct import bind_apply
from .pointwise import Option, bind_pointwise
from .signatures import ABSENT, compile_function, ordered_kernel

K = TypeVar("K", bound=Callable[..., Any])


class OpSpace:
    """The ops a derivative formula is written in, as attributes.

    With ``owns``, a formula may write its result over the gradient it was given, of
    which nobody else knows. ``owning`` is the space for that, ``keeping`` the one that
    leaves the gradient alone.
    """

    def __init__(self, raw: bool, unpack: Callable[[Node, SavedTensor], Any]) -> None:
        self.raw = raw
        self.unpack = unpack
        self.owns = False
        self.owning: OpSpace | None = None
        self.keeping = self

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no op named {name!r} is declared")


def _unpack_tensor(node: Node, saved: SavedTensor) -> Any:
    if saved.is_stale:
        memory: Any = saved.memory
        if type(memory) is Packing:
            return unpack_tensor(node, memory)
        raise modified_error(node, saved)
    if saved.tensor is not None:
        return saved.tensor
    assert node.saved is not None
    if node.foreign:  # a user's function says itself which output it saved
        return node.saved_output(saved)  # pyright: ignore[reportAttributeAccessIssue]
    slot = node.slots[node.saved.index(saved)]
    number = int(slot.removeprefix("result") or 0)
    output = wrap_shared(saved.array, saved.storage)
    if node.extra is not None and node.extra.shown is not None:
        maker = node.extra.shown()  # the node was a write into a view
        output._grad_fn = node if maker is None else maker  # None: the view is gone
        output._needs = True
    elif number in node.op.differentiable:  # pyright: ignore[reportAttributeAccessIssue]
        output._grad_fn, output._nr, output._needs = node, number, True
    if mode.now.duals is not None:
        mode.now.duals.unpacked(node, number, output)
    return output


tensor_ops: Any = OpSpace(raw=False, unpack=_unpack_tensor)
_numpy_ops: Any = OpSpace(raw=True, unpack=check_version)
_owning_ops: Any = OpSpace(raw=True, unpack=check_version)
_owning_ops.owns, _owning_ops.keeping = True, _numpy_ops
_numpy_ops.owning = _owning_ops
_raw_ops: dict[type, Any] = {np.ndarray: _numpy_ops}


def raw_ops(array: Any) -> Any:
    """Return the kernels for arrays of this kind, by op name."""
    found = _raw_ops.get(type(array))
    if found is None:
        backend = backend_of(array)
        found = _raw_ops.setdefault(backend.array_type, OpSpace(True, check_version))
        for each in OPS.values():
            setattr(found, each.key, functools.partial(each.kernel, backend.xp))
        _raw_ops[type(array)] = found
    return found


def _add_kernel(key: str, kernel: Any) -> None:
    setattr(_numpy_ops, key, kernel)
    setattr(_owning_ops, key, kernel)


def op(
    derivatives: Mapping[str | tuple[str, ...], Derivative] | None = None,
    *,
    node: str = "",
    method: bool = True,
    function: bool = True,
    **facts: Any,
) -> Callable[[Kernel], Callable[..., Any]]:
    """Declare an op; the decorated function is its forward kernel.

    The kernel takes the array module ``xp`` first, then the op's own arguments as
    PyTorch names them; those marked ``Array`` are tensors. A declared op becomes a
    function and, unless ``method=False``, a method of Tensor.
    """

    def declare(kernel: Kernel) -> Callable[..., Any]:
        name = facts.get("name", kernel.__name__)
        record = read_op(
            kernel,
            derivatives or {},
            node_name=node or node_name(name),
            **facts,
        )
        make_node_type(record)
        call = compile_function(record, name, bind_apply(record), record.out)
        _add_kernel(record.key, functools.partial(kernel, np))
        return _publish(record, call, method, function)

    return declare


def pointwise(
    name: str,
    ufunc: str | Kernel,
    derivatives: Mapping[str, Derivative],
    *,
    arity: int = 1,
    promotion: Promotion = "common",
    node: str = "",
    method: bool = True,
    function: bool = True,
    general: Kernel | None = None,
    check: Check | None = None,
    option: Option | None = None,
    out: bool = True,
    out_rule: str = "",
    numbers: bool = True,
    key: str = "",
    family: Family = "",
) -> Callable[..., Any]:
    """Declare an op that NumPy has as a ufunc: no options, one or two operands.

    ``promotion`` says how operands of unlike dtypes meet: "common" dtype, "float"
    (integers become the default float type) or "compare" (the result is bool).
    """

    def unary(xp: Any, self: Array) -> Any:
        return kernel_of(xp)(self)

    def binary(xp: Any, self: Operand, other: Operand) -> Any:
        return kernel_of(xp)(self, other)

    def kernel_of(xp: Any) -> Any:
        return (
            getattr(xp, ufunc)
            if isinstance(ufunc, str)
            else functools.partial(ufunc, xp)
        )

    record = read_op(
        general or (unary if arity == 1 else binary),
        {**derivatives},
        name=name,
        key=key,
        node_name=node or node_name(name),
        promotion=promotion,
        pointwise=True,
        family=family,
        out=out,
        out_rule=out_rule,
        check=check,
    )
    if not numbers:
        record.numbers = frozenset()
    make_node_type(record)
    fast = kernel_of(np)
    _add_kernel(record.key, fast)
    call = bind_pointwise(record, fast, option)
    return _publish(record, call, method, function)


def method(*names: str, function: bool = False) -> Callable[[K], K]:
    """Install a function of tensors as Tensor method(s), named like it by default."""

    def install(func: K) -> K:
        for name in names or (func.__name__,):
            setattr(Tensor, name, func)
            if function:
                FUNCTIONS[name] = func
        return func

    return install


def public(func: K) -> K:
    """Offer a function of tensors as ``gradtape.<name>``."""
    FUNCTIONS[func.__name__] = func
    return func


def node_name(op_name: str) -> str:
    """Return PyTorch's name for the backward function of an op.

    >>> from gradtape._dispatch.declare import node_name
    >>> node_name("log_softmax")
    'LogSoftmaxBackward0'
    """
    return "".join(p[:1].upper() + p[1:] for p in op_name.split("_")) + "Backward0"


def _publish(
    record: Op, call: Callable[..., Any], method: bool, function: bool
) -> Callable[..., Any]:
    name = record.key
    call.__doc__ = record.doc
    OPS[name] = record
    setattr(tensor_ops, name, call)
    if method:
        setattr(Tensor, name, call)
    if function:
        FUNCTIONS[name] = call
    return call


def make_node_type(record: Op) -> None:
    """Give a record its node class and its way to call the kernel."""
    record.ordered = ordered_kernel(record)
    record.node_type = type(
        record.node_name,
        (Node,),
        {
            "__slots__": (),
            **(slots_for(len(record.saves)) if record.slotted else {}),
            "keeps": bool(record.saves),
            "lies_like_operands": record.lies_like_operands,
            "__module__": "gradtape.autograd.graph",
            "op": record,
            "op_name": record.name,
            "slots": record.saves,
            "order": saving_order(record),
            "param_names": record.param_names,
            "run": bind_run(record),
            "second_names": {
                n: f"result{i}" for i, n in enumerate(record.output_names)
            },
        },
    )


__all__ = [
    "ABSENT",
    "FUNCTIONS",
    "OPS",
    "Array",
    "OpSpace",
    "Operand",
    "compile_function",
    "method",
    "node_name",
    "op",
    "pointwise",
    "public",
    "raw_ops",
    "tensor_ops",
]
