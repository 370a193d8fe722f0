"""Whole Jacobians and Hessians: backward row by row, all rows at once, or forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._modes.grad_mode import enable_grad
from ..._tensor.tensor import Tensor
from ...ops.creation.factories import zeros_like
from ...ops.rearrange.cat import stack
from .. import forward_ad
from . import inputs_outputs as parts
from .inputs_outputs import Tensors
from .row_by_row import by_rows

Function = Callable[..., Any]

_STRATEGIES = ("forward-mode", "reverse-mode")


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the derivative of every output of ``func`` by every input.

    For one output and one input a tensor whose shape is the output's followed by the
    input's; for tuples a tuple of those per input, a tuple per output.
    ``strategy="forward-mode"``, which needs ``vectorize``, pushes tangents forward
    instead of gradients backward: less work where there are fewer inputs than outputs.
    ``vectorize`` itself changes nothing here but what it excludes. ``strict`` raises
    RuntimeError where an output does not depend on an input, for which there are zeros
    otherwise.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.jacobian(lambda x: x * x, x)
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in _STRATEGIES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If '
            'your function has more outputs than inputs, "forward-mode" tends to be '
            'more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                "torch.autograd.functional.jacobian: `create_graph=True` and "
                '`strategy="forward-mode"` are not supported together (yet). Please '
                'either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        return forward_jacobian(func, inputs, strict, vectorize)
    with enable_grad():
        given, many_inputs = parts.as_tensors(inputs, "inputs", "jacobian")
        given = parts.fresh(given, create_graph, needs_grad=True)
        outputs, many_outputs = parts.as_tensors(
            func(*given), parts.OUTPUTS, "jacobian"
        )
        if strict:
            parts.check_recorded(outputs, parts.OUTPUT_CONSTANT)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and "
                "`vectorized=True` are not supported together. Please either set "
                "`strict=False` or `vectorize=False`."
            )
        rows = (
            _all_at_once(outputs, given, create_graph)
            if vectorize
            else [
                _of_output(number, output, given, create_graph, strict)
                for number, output in enumerate(outputs)
            ]
        )
        rows = [parts.released(row, create_graph) for row in rows]
    return parts.unpacked_rows(rows, many_outputs, many_inputs)


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the second derivatives of a function that returns one number.

    For one input a tensor of its shape twice over; for a tuple a tuple of tuples,
    entry [i][j] differentiated by inputs i and j. The inner derivative is taken
    backward, the outer one as ``outer_jacobian_strategy`` says; ``vectorize`` and
    ``strict`` are those of :func:`jacobian`.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), x)
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    given, many = parts.as_tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in _STRATEGIES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode".'
        )

    def one_number(*tensors: Tensor) -> Tensor:
        output = func(*tensors)
        found, is_tuple = parts.as_tensors(output, parts.OUTPUTS, "hessian")
        if strict:
            parts.check_recorded(found, parts.OUTPUT_CONSTANT)
        if is_tuple:
            raise RuntimeError(
                "The function given to hessian should return a single Tensor"
            )
        if output.numel() != 1:
            raise RuntimeError(
                "The Tensor returned by the function given to hessian should contain a "
                "single element"
            )
        return output.squeeze()

    def gradient(*tensors: Tensor) -> Tensors:
        if outer_jacobian_strategy == "forward-mode":
            # Without this the inner jacobian would detach them, tangents and all.
            tensors = tuple(each.requires_grad_(True) for each in tensors)
        found = jacobian(one_number, tensors, create_graph=True)
        if strict:
            parts.check_recorded(found, parts.JACOBIAN_CONSTANT)
        return found

    rows = jacobian(
        gradient,
        given,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return rows if many else parts.unpacked_rows(rows, many, many)


def _of_output(
    number: int, output: Tensor, inputs: Tensors, create_graph: bool, strict: bool
) -> Tensors:
    """Differentiate one output, element by element; return a tensor per input."""
    rows: list[list[Tensor]] = [[] for _ in inputs]
    for position in range(output.numel()):
        element = output.reshape(-1)[position]
        found = parts.gradients(
            (element,), inputs, retain_graph=True, create_graph=create_graph
        )
        for index, (each, like) in enumerate(zip(found, inputs, strict=True)):
            if each is None:
                if strict:
                    raise RuntimeError(
                        parts.ENTRY_INDEPENDENT.format(output=number, i=index)
                    )
                each = zeros_like(like)
            elif strict and create_graph and not each.requires_grad:
                raise RuntimeError(parts.JACOBIAN_CUT.format(i=number))
            rows[index].append(each)
    return tuple(
        stack(row).view(output.shape + like.shape)
        for row, like in zip(rows, inputs, strict=True)
    )


def _all_at_once(
    outputs: Tensors, inputs: Tensors, create_graph: bool
) -> list[Tensors]:
    """Differentiate every element of every output in one batched backward pass."""
    flat = tuple(output.reshape(-1) for output in outputs)
    lengths = [output.numel() for output in outputs]
    basis = standard_basis(outputs, lengths)
    found = parts.gradients(
        flat, inputs, basis, create_graph=create_graph, batched=True
    )
    columns: list[list[Tensor]] = []
    for each, like in zip(found, inputs, strict=True):
        if each is None:
            each = zeros_like(like).expand((sum(lengths), *like.shape))
        columns.append(
            [
                piece.view(output.shape + like.shape)
                for piece, output in zip(
                    each.split(lengths, dim=0), outputs, strict=True
                )
            ]
        )
    return list(zip(*columns, strict=True))


# ---- the Jacobian in one forward pass: dual numbers along every input at once ----


def forward_jacobian(
    func: Callable[..., Any], inputs: Any, strict: bool, vectorize: bool
) -> Any:
    """Return the derivative of every output by every input, from tangents alone."""
    if strict:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and "
            '`strategy="forward-mode"` are not supported together (yet). Please either '
            'set `strict=False` or `strategy="reverse-mode"`.'
        )
    given, many_inputs = parts.as_tensors(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
            "only implemented for `vectorize=True`."
        )
    shapes, many_outputs, columns = _pushed_forward(func, given)
    lengths = [each.numel() for each in given]
    rows = [
        tuple(
            piece.permute(*range(1, piece.dim()), 0).reshape(*shape, *like.shape)
            for piece, like in zip(column.split(lengths, dim=0), given, strict=True)
        )
        for column, shape in zip(columns, shapes, strict=True)
    ]
    found = parts.unpacked_rows(rows, many_outputs, many_inputs)
    return _as_lists(found) if many_inputs else found


def _as_lists(found: Any) -> Any:
    """Turn tuples to lists, which PyTorch returns here where inputs are several."""
    return found if isinstance(found, Tensor) else [_as_lists(each) for each in found]


def standard_basis(tensors: Tensors, lengths: Sequence[int]) -> Tensors:
    """Return the unit vectors of the space of all elements of the tensors.

    ``lengths`` are their numbers of elements. One tensor of (all elements, own
    elements) for each: row r of all of them together is the r-th unit vector.
    """
    total, start = sum(lengths), 0
    basis: list[Tensor] = []
    for each, length in zip(tensors, lengths, strict=True):
        chunk = each.new_zeros(total, length)
        chunk.diagonal(-start).fill_(1)
        basis.append(chunk)
        start += length
    return tuple(basis)


def _pushed_forward(
    func: Callable[..., Any], inputs: Tensors
) -> tuple[list[tuple[int, ...]], bool, Tensors]:
    """Push every unit vector through ``func``.

    Returns the shapes of its outputs, whether they were a tuple, and for each output
    the tangents stacked: (all input elements, *shape).
    """
    shapes: list[tuple[int, ...]] = []
    many = False

    def push(*tangents: Tensor) -> Tensors:
        nonlocal shapes, many
        with forward_ad.dual_level():
            duals = tuple(
                forward_ad.make_dual(each, tangent.view_as(each))
                for each, tangent in zip(inputs, tangents, strict=True)
            )
            outputs, many = parts.as_tensors(func(*duals), parts.OUTPUTS, "jacobian")
            halves = [forward_ad.unpack_dual(each) for each in outputs]
        shapes = [tuple(primal.shape) for primal, _ in halves]
        return tuple(
            zeros_like(primal) if tangent is None else tangent
            for primal, tangent in halves
        )

    basis = standard_basis(inputs, [each.numel() for each in inputs])
    columns = by_rows(push, *basis)  # first: it fills in the others
    return shapes, many, columns
