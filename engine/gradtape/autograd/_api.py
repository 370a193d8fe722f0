"""``autograd.backward`` and ``autograd.grad``: check the arguments, run the loop."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

from .. import _errors
from .._backend import backend_of
from .._backward import run_backward
from .._define import method
from .._dtypes import DTYPE_OF
from .._node import Node, accumulator_of
from .._site import user_frame
from .._tensor import Tensor, edge_of, wrap

Tensors: TypeAlias = Tensor | Sequence[Tensor]
Gradients: TypeAlias = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: Tensors,
    grad_tensors: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Gradients = None,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves.

    ``grad_tensors`` holds one incoming gradient per tensor, of its shape; None stands
    for 1 and needs a single element. ``inputs`` limits the leaves that are reached.
    Raises RuntimeError where a tensor has no graph, or its graph was freed.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        grad_tensors = grad_variables
    outputs = _as_list(tensors)
    targets = None
    if inputs is not None:
        wanted = _as_list(inputs)
        if not wanted:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        targets = [_target_edge(tensor) for tensor in wanted]
        for tensor in wanted:
            if not tensor.is_leaf:
                tensor.retain_grad()
    gradients = _incoming(outputs, grad_tensors)
    if create_graph:
        warnings.warn(_errors.CREATE_GRAPH_CYCLE, UserWarning, stacklevel=_depth())
    run_backward(
        _roots(outputs),
        gradients,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        targets=targets,
    )


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """Return the gradients of ``outputs`` with respect to ``inputs``.

    One tensor per input, of its shape; None for an input the outputs do not depend on,
    which needs ``allow_unused=True`` (zeros with ``materialize_grads=True``).

    >>> import gradtape as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if is_grads_batched:
        raise RuntimeError("is_grads_batched=True is not supported by this engine")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads="
            "True, but got: allow_unused=False."
        )
    ends, starts = _as_list(outputs), _as_list(inputs)
    if not starts:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    gradients = _incoming(ends, grad_outputs)
    found = run_backward(
        _roots(ends),
        gradients,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        targets=[_target_edge(tensor) for tensor in starts],
        accumulating=False,
    )
    allow = materialize_grads if allow_unused is None else allow_unused
    results: list[Any] = []
    for index, (tensor, each) in enumerate(zip(starts, found, strict=True)):
        if each is None and not allow:
            raise RuntimeError(_errors.UNUSED_INPUT.format(index=index))
        if each is None and materialize_grads:
            each = backend_of(tensor._data).xp.zeros_like(tensor._data)
        results.append(each if each is None or create_graph else _as_tensor(each))
    return tuple(results)


@method("backward")
def _tensor_backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of this tensor to the ``.grad`` of the leaves."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def _depth() -> int:
    """Return the stacklevel at which a warning names the user's line."""
    user, depth = user_frame(), 1
    frame = sys._getframe(1)
    while frame is not user and frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def _as_list(tensors: Any) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _as_tensor(grad: Any) -> Tensor:
    return grad if isinstance(grad, Tensor) else wrap(grad)


def _roots(outputs: Sequence[Tensor]) -> list[tuple[Node, int]]:
    edges: list[tuple[Node, int]] = []
    for index, tensor in enumerate(outputs):
        node = edge_of(tensor)
        if node is None:
            raise RuntimeError(_errors.NO_GRAD_FN.format(index=index))
        edges.append((node, tensor._nr))
    return edges


def _target_edge(tensor: Tensor) -> tuple[Node, int]:
    if not tensor.requires_grad:
        raise RuntimeError(_errors.INPUT_NO_GRAD)
    node = tensor.grad_fn
    return (accumulator_of(tensor), 0) if node is None else (node, tensor._nr)


def _incoming(outputs: Sequence[Tensor], gradients: Gradients) -> list[Tensor]:
    given: Sequence[Tensor | None]
    if gradients is None:
        given = [None] * len(outputs)
    else:
        given = [gradients] if isinstance(gradients, Tensor) else list(gradients)
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    return [
        _ones_for(tensor, index) if each is None else _checked(tensor, each, index)
        for index, (tensor, each) in enumerate(zip(outputs, given, strict=True))
    ]


def _ones_for(tensor: Tensor, index: int) -> Tensor:
    if tensor.requires_grad and tensor.numel() != 1:
        raise RuntimeError(_errors.NOT_SCALAR)
    if tensor.requires_grad and not tensor.dtype.is_floating_point:
        raise RuntimeError(_errors.NOT_REAL_SCALAR.format(dtype=tensor.dtype))
    if not tensor.requires_grad:
        raise RuntimeError(_errors.NO_GRAD_FN.format(index=index))
    return wrap(backend_of(tensor._data).xp.ones_like(tensor._data))


def _checked(tensor: Tensor, grad: Tensor, index: int) -> Tensor:
    if not isinstance(grad, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            "gradients can be either Tensors or None, but got " + type(grad).__name__
        )
    if grad.shape != tensor.shape:
        raise RuntimeError(
            _errors.GRAD_SHAPE.format(index=index, grad=grad.shape, output=tensor.shape)
        )
    if DTYPE_OF[grad._data.dtype].is_complex != tensor.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have "
            f"the same dtype. Mismatch in dtype: grad_output[{index}] has a dtype of "
            f"{grad.dtype} and output[{index}] has a dtype of {tensor.dtype}."
        )
    return grad
