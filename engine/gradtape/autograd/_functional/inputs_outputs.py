"""What the functional derivatives share: tuples, fresh inputs, strict checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from ..._tensor.tensor import Tensor
from ...ops.creation.factories import zeros_like
from .. import _api

Tensors: TypeAlias = tuple[Tensor, ...]
Gradients: TypeAlias = tuple[Tensor | None, ...]

OUTPUTS = "outputs of the user-provided function"

# ---- what strict mode says -----------------------------------------------------------

OUTPUT_CONSTANT = (
    "Output {i} of the user-provided function does not require gradients. The outputs "
    "must be computed in a differentiable manner from the input when running in strict "
    "mode."
)
OUTPUT_INDEPENDENT = (
    "The output of the user-provided function is independent of input {i}. This is not "
    "allowed in strict mode."
)
ENTRY_INDEPENDENT = (
    "Output {output} of the user-provided function is independent of input {i}. This "
    "is not allowed in strict mode."
)
GRADIENT_CONSTANT = (
    "The gradient with respect to input {i} is independent of the inputs of the "
    "user-provided function. This is not allowed in strict mode."
)
JACOBIAN_CONSTANT = (
    "While computing the hessian, found that the jacobian of the user-provided "
    "function with respect to input {i} is independent of the input. This is not "
    "allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be "
    "violated by a linear function for example)."
)
# One entry per backward pass: what an absent gradient means there, and what a gradient
# without a graph means where create_graph=True asked for one.
_JACOBIAN_INDEPENDENT = (
    "The jacobian of the user-provided function is independent of input {i}. This is "
    "not allowed in strict mode"
)
_HESSIAN_INDEPENDENT = (
    "The hessian of the user-provided function is independent of input {i}. This is "
    "not allowed in strict mode"
)
JACOBIAN_CUT = _JACOBIAN_INDEPENDENT + " when create_graph=True."
HESSIAN_CUT = _HESSIAN_INDEPENDENT + " when create_graph=True."
FIRST = (OUTPUT_INDEPENDENT, JACOBIAN_CUT)
_FORWARD_INDEPENDENT = (
    "The gradient with respect to the input is independent of entry {i} in the "
    "grad_outputs when using the double backward trick to compute forward mode "
    "gradients. This is not allowed in strict mode."
)
FIRST_FORWARD = (_FORWARD_INDEPENDENT, JACOBIAN_CUT)
SECOND = (_JACOBIAN_INDEPENDENT + ".", HESSIAN_CUT)
_SECOND_FORWARD_INDEPENDENT = (
    "The hessian of the user-provided function is independent of entry {i} in the "
    "grad_jacobian. This is not allowed in strict mode as it prevents from using the "
    "double backward trick to replace forward mode AD."
)
SECOND_FORWARD = (_SECOND_FORWARD_INDEPENDENT, HESSIAN_CUT)


# ---- tuples --------------------------------------------------------------------------


def as_tensors(value: Any, argument: str, function: str) -> tuple[Tensors, bool]:
    """Return the tensors of an argument, and whether it was a tuple of them."""
    if isinstance(value, Tensor):
        return (value,), False
    rule = (
        f"The {argument} given to {function} must be either a Tensor or a tuple of "
        "Tensors but the "
    )
    if not isinstance(value, tuple):
        raise TypeError(f"{rule}given {argument} has type {type(value)}.")
    for index, each in enumerate(value):
        if not isinstance(each, Tensor):
            raise TypeError(f"{rule}value at index {index} has type {type(each)}.")
    return value, True


def unpacked(results: Sequence[Any], many: bool) -> Any:
    """Return results in the form of their argument: a tuple, or the one of it."""
    return results if many else results[0]


def unpacked_rows(
    rows: Iterable[Sequence[Any]], many_rows: bool, many_columns: bool
) -> Any:
    """Return a tuple of tuples with the levels left out that hold one thing."""
    return unpacked(
        tuple(row if many_columns else row[0] for row in rows), many=many_rows
    )


# ---- going in and coming out ---------------------------------------------------------


def fresh(inputs: Tensors, create_graph: bool, needs_grad: bool) -> Tensors:
    """Return new tensors over the same values.

    Always new ones: the function may also use the caller's tensors themselves, and
    what flows to those is not a derivative by this argument.
    """
    return tuple(
        each.view_as(each)  # pyright: ignore[reportAttributeAccessIssue]
        if create_graph and each.requires_grad
        else each.detach().requires_grad_(needs_grad)
        for each in inputs
    )


def released(results: Tensors, create_graph: bool) -> Tensors:
    """Return results without their graph, unless the caller asked for it."""
    return results if create_graph else tuple(each.detach() for each in results)


def fresh_vector(
    v: Any, function: str, like: Tensors, many: bool, create_graph: bool
) -> Tensors:
    """Return the vector of a product, checked to be of the sizes of ``like``."""
    vector, _ = as_tensors(v, "v", function)
    vector = fresh(vector, create_graph, needs_grad=False)
    if len(vector) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got "
            f"{len(vector)}."
            if many
            else "The given v should contain a single Tensor."
        )
    for index, (each, wanted) in enumerate(zip(vector, like, strict=True)):
        if each.shape != wanted.shape:
            where = f"Entry {index} in " if many else ""
            raise RuntimeError(
                f"{where}v has invalid size: should be {wanted.shape} but got "
                f"{each.shape}."
            )
    return vector


# ---- gradients -----------------------------------------------------------------------


def check_recorded(tensors: Iterable[Tensor | None], sentence: str) -> None:
    """Refuse, for strict mode, what does not depend on the inputs."""
    for index, each in enumerate(tensors):
        if each is None:
            raise RuntimeError(OUTPUT_INDEPENDENT.format(i=index))
        if not each.requires_grad:
            raise RuntimeError(sentence.format(i=index))


def gradients(
    outputs: Sequence[Tensor | None],
    inputs: Tensors,
    vector: Sequence[Tensor | None] | None = None,
    *,
    create_graph: bool = False,
    retain_graph: bool | None = None,
    batched: bool = False,
) -> Gradients:
    """Return a gradient per input, None where no output depends on it.

    Outputs that are constants, or absent, add nothing.
    """
    given = [None] * len(outputs) if vector is None else vector
    pairs = [
        (output, each)
        for output, each in zip(outputs, given, strict=True)
        if output is not None and output.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    return _api.grad(
        [output for output, _ in pairs],
        inputs,
        [each for _, each in pairs],
        retain_graph=retain_graph,
        create_graph=create_graph,
        allow_unused=True,
        is_grads_batched=batched,
    )


def filled(
    found: Gradients,
    like: Tensors,
    strict: bool,
    create_graph: bool,
    sentences: tuple[str, str],
) -> Tensors:
    """Return the gradients with zeros for the absent; strict mode refuses those."""
    absent, cut = sentences
    results: list[Tensor] = []
    for index, (each, wanted) in enumerate(zip(found, like, strict=True)):
        if each is None:
            if strict:
                raise RuntimeError(absent.format(i=index))
            each = zeros_like(wanted)
        elif strict and create_graph and not each.requires_grad:
            raise RuntimeError(cut.format(i=index))
        results.append(each)
    return tuple(results)
