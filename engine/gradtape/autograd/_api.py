"""``autograd.backward`` and ``autograd.grad``: check the arguments, run the loop."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from .._backend import backend_of
from .._common import messages as _errors
from .._common.site import user_stacklevel
from .._common.warn import warn_once
from .._dispatch.declare import FUNCTIONS, method
from .._dispatch.operands import as_array
from .._dtypes import DTYPE_OF
from .._engine.backward import run_backward
from .._graph.node import Node, accumulator_of
from .._modes.grad_mode import mode
from .._modes.transforms import active, refuse_backward
from .._overrides.torch_dispatch import dispatching
from .._tensor.size import Size
from .._tensor.tensor import Tensor, edge_of, wrap, wrap_alias
from ._functional.row_by_row import batched_grad
from ._graph_edges import GradientEdge

Ends: TypeAlias = Tensor | GradientEdge | Sequence[Tensor] | Sequence[GradientEdge]
Inputs: TypeAlias = Ends | dict[str, Tensor] | None
Gradients: TypeAlias = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: Ends,
    grad_tensors: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Gradients = None,
    inputs: Inputs = None,
) -> None:
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves.

    ``grad_tensors`` holds one incoming gradient per tensor, of its shape; None stands
    for 1 and needs a single element. ``inputs`` limits what gets a gradient, and may
    name tensors that are no leaves. Raises RuntimeError where a tensor has no graph, or
    its graph was freed.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    refuse_backward()
    if grad_variables is not None:
        warnings.warn(
            _errors.GRAD_VARIABLES, FutureWarning, stacklevel=user_stacklevel()
        )
        if grad_tensors is not None:
            raise RuntimeError(_errors.GRAD_TENSORS_TWICE)
        grad_tensors = grad_variables
    limit = None if inputs is None else _several(inputs, "backward")
    outputs = _several(tensors)
    gradients = incoming(outputs, _given(grad_tensors, len(outputs)))
    keep = create_graph if retain_graph is None else retain_graph
    run_between(outputs, gradients, bool(keep), create_graph, limit, accumulating=True)


def grad(
    outputs: Ends,
    inputs: Inputs,
    grad_outputs: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradients of ``outputs`` with respect to ``inputs``.

    One tensor per input, of its shape; a dict of inputs gives a dict. An input the
    outputs do not depend on has None, which needs ``allow_unused=True``, or zeros with
    ``materialize_grads=True``. With ``is_grads_batched``, each of ``grad_outputs`` has
    a dimension more, and so have the results: one gradient per entry.

    >>> import gradtape as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(_errors.MATERIALIZE_UNUSED)
    allow = bool(materialize_grads if allow_unused is None else allow_unused)
    ends, starts = _several(outputs), _several(inputs, "grad")
    if not only_inputs:
        warnings.warn(_errors.ONLY_INPUTS, FutureWarning, stacklevel=user_stacklevel())
    given = _given(grad_outputs, len(ends))
    gradients = incoming(ends, given, batched=is_grads_batched)
    keep = bool(create_graph if retain_graph is None else retain_graph)

    def once(each: Sequence[Any], keep: bool = keep) -> list[Tensor | None]:
        found = run_between(ends, each, keep, create_graph, starts, accumulating=False)
        if not allow and None in [None if g is None else 0 for g in found]:
            index = next(i for i, g in enumerate(found) if g is None)
            raise RuntimeError(_errors.UNUSED_INPUT.format(index=index))
        return found

    results = (
        batched_grad(once, gradients, keep) if is_grads_batched else once(gradients)
    )
    if materialize_grads:
        results = [
            _or_zeros(g, x, create_graph) for g, x in zip(results, starts, strict=True)
        ]
    if type(inputs) is dict:
        return dict(zip(inputs, results, strict=True))
    return tuple(results)


@method("backward")
def tensor_backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Inputs = None,
) -> None:
    """Add the gradients of this tensor to the ``.grad`` of the leaves.

    See :func:`gradtape.autograd.backward`; ``gradient`` is the one that comes in.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).backward(torch.tensor([1.0, 10.0]))
    >>> x.grad
    tensor([ 2., 40.])
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


tensor_backward.__name__ = "backward"
tensor_backward.__qualname__ = "Tensor.backward"


def _several(tensors: Any, function: str = "") -> tuple[Any, ...]:
    """Return tensors and edges, given as one, several or a dict, as a tuple."""
    if isinstance(tensors, Tensor) or _is_edge(tensors):
        return (tensors,)
    if function and isinstance(tensors, Mapping):
        if type(tensors) is not dict:
            raise TypeError(
                f"`inputs` argument to `{function}()` must be a dict, not "
                f"{type(tensors).__name__}. Other Mapping types are not supported."
            )
        tensors = tensors.values()
    found = tuple(tensors)
    if function and not found:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    return found


def _is_edge(value: Any) -> bool:
    return isinstance(value, GradientEdge)


def _given(gradients: Gradients, count: int) -> tuple[Any, ...]:
    if gradients is None:
        return (None,) * count
    return (gradients,) if isinstance(gradients, Tensor) else tuple(gradients)


def run_between(
    outputs: Sequence[Any],
    gradients: Sequence[Any],
    keep: bool,
    create_graph: bool,
    inputs: Sequence[Any] | None,
    accumulating: bool,
) -> list[Tensor | None]:
    """Run the loop between tensors or edges; return what it found as tensors."""
    if len(outputs) != len(gradients):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    roots = [_root(end, index) for index, end in enumerate(outputs)]
    targets = None if inputs is None else [_target(x, accumulating) for x in inputs]
    try:
        found = run_backward(
            roots,
            gradients,
            retain_graph=keep or active.more,
            create_graph=create_graph,
            targets=targets,
            accumulating=accumulating,
        )
    finally:
        if create_graph and accumulating and roots:  # after what hooks warned of
            warn_once(_errors.CREATE_GRAPH_CYCLE)
    return _as_tensors(found, gradients)


def _root(end: Any, index: int) -> tuple[Node, int]:
    if _is_edge(end):
        return end.node, end.output_nr
    node = edge_of(end)
    if node is None:
        raise RuntimeError(_errors.NO_GRAD_FN.format(index=index))
    return node, end._nr


def _target(start: Any, accumulating: bool) -> tuple[Node, int]:
    """Return the edge of an input; one that is no leaf is told to keep its ``.grad``.

    Raises RuntimeError where it needs no gradient.
    """
    if _is_edge(start):
        return start.node, start.output_nr
    if not isinstance(start, Tensor):
        raise RuntimeError(
            "all inputs have to be Tensors or GradientEdges, but got "
            f"{type(start).__name__}"
        )
    if accumulating:
        start.retain_grad()
    if not start.requires_grad:
        raise RuntimeError(_errors.INPUT_NO_GRAD)
    node = start.grad_fn
    return (accumulator_of(start), 0) if node is None else (node, start._nr)


def _as_tensors(found: Sequence[Any], gradients: Sequence[Any]) -> list[Tensor | None]:
    """Wrap raw results, each array once.

    A gradient that came through unchanged is the tensor the user gave, and a view of it
    shares its memory and version.
    """
    known = {id(given._data): given for given in gradients}
    tensors: list[Tensor | None] = []
    for each in found:
        if each is None or isinstance(each, Tensor):
            tensors.append(each)
            continue
        tensor = known.get(id(each))
        if tensor is None:
            tensor = known[id(each)] = _wrap_result(each, gradients)
        tensors.append(tensor)
    return tensors


def _wrap_result(array: Any, gradients: Sequence[Any]) -> Tensor:
    base = getattr(array, "base", None)
    if base is not None:
        for given in gradients:
            if base is given._data or base is given._data.base:
                return wrap_alias(array, given)
    return wrap(as_array(array))


def _or_zeros(found: Tensor | None, start: Any, needs_grad: bool) -> Tensor:
    if found is not None:
        return found
    if not isinstance(start, Tensor):
        raise RuntimeError(_errors.MATERIALIZE_EDGE)
    zeros = wrap(backend_of(start._data).xp.zeros_like(start._data))
    zeros._needs = needs_grad
    return zeros


# ---- the gradients that a pass begins with ----


def incoming(
    outputs: Sequence[Any], given: Sequence[Any], batched: bool = False
) -> tuple[Tensor | None, ...]:
    """Return one gradient per output; None only where the output needs none.

    Raises RuntimeError for a gradient of another shape, or complex where the output is
    real, and for a missing one where the output is no single real number.
    """
    found: list[Tensor | None] = []
    for index, (output, gradient) in enumerate(zip(outputs, given, strict=False)):
        if not isinstance(output, (Tensor, GradientEdge)):
            raise AssertionError("Expected output to be a torch.Tensor")
        shape, dtype = _meta_of(output)
        if gradient is None:
            needs = isinstance(output, GradientEdge) or output.requires_grad
            found.append(_ones(output, shape, dtype) if needs else None)
        elif isinstance(gradient, Tensor):
            _check_shape(index, output, shape, gradient, batched)
            _check_complex(index, dtype, gradient)
            found.append(gradient)
        else:
            raise TypeError(
                "gradients can be either Tensors or None, but got "
                + type(gradient).__name__
            )
    return tuple(found)


def shapes_of(output: Any, grad: Tensor, is_grads_batched: bool) -> tuple[Size, Size]:
    """Return the shapes that an output and its gradient, or one of a batch, have."""
    return _meta_of(output)[0], Size(grad.shape[int(is_grads_batched) :])


def _meta_of(output: Any) -> tuple[Size, Any]:
    """Return shape and dtype of a tensor, or of the tensor an edge stands for."""
    if isinstance(output, Tensor):
        return output.shape, output.dtype
    layout = output.node.layouts[output.output_nr]
    return Size(layout.shape), DTYPE_OF[layout.dtype]


def _ones(output: Any, shape: Size, dtype: Any) -> Tensor:
    if shape.numel() != 1:
        raise RuntimeError(_errors.NOT_SCALAR)
    if not dtype.is_floating_point:
        raise RuntimeError(_errors.NOT_REAL_SCALAR.format(dtype=dtype))
    if type(output) in dispatching or mode.now.dispatch:
        return FUNCTIONS["ones_like"](output)
    if isinstance(output, Tensor):
        one = backend_of(output._data).xp.empty_like(output._data)
        one.fill(1)  # in a third of the time that ones_like takes
        return wrap(one)
    return FUNCTIONS["ones"](shape, dtype=dtype)


def _check_shape(
    index: int, output: Any, shape: Size, gradient: Tensor, batched: bool
) -> None:
    first = gradient
    if batched:
        first = gradient[0]  # type: ignore[index] - refuses a single number
    if first.shape == shape:
        return
    if not batched:
        raise RuntimeError(
            _errors.GRAD_SHAPE.format(index=index, grad=first.shape, output=shape)
        )
    if isinstance(output, GradientEdge):
        raise RuntimeError("Batched grads are not supported with GradientEdge")
    raise RuntimeError(
        _errors.BATCHED_SHAPE.format(
            index=index, grad=Size(first.shape[1:]), output=shape
        )
    )


def _check_complex(index: int, dtype: Any, gradient: Tensor) -> None:
    if dtype.is_complex != gradient.dtype.is_complex:
        raise RuntimeError(
            _errors.GRAD_COMPLEX.format(index=index, grad=gradient.dtype, output=dtype)
        )
