"""Products of a Jacobian or Hessian with a vector, without building the matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._modes.grad_mode import enable_grad, is_grad_enabled, set_grad_enabled
from ...ops.creation.factories import zeros_like
from . import inputs_outputs as parts
from .inputs_outputs import Gradients, Tensors

Function = Callable[..., Any]

_ONE_OUTPUT = (
    "The vector v can only be None if the user-provided function returns a single "
    "Tensor with a single element."
)
_ONE_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a "
    "single Tensor with a single element."
)


def vjp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Multiply a vector with the Jacobian of ``func`` at ``inputs``, from the left.

    ``v`` has the sizes of what ``func`` returns, and may be left out where that is one
    number. Returns (what func returned, the product in the sizes of the inputs).
    ``strict`` raises RuntimeError where a result would be zero because nothing depends
    on an input.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vjp(lambda x: x * x, x, torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        given, many_inputs = parts.as_tensors(inputs, "inputs", "vjp")
        given = parts.fresh(given, create_graph, needs_grad=True)
        outputs, many_outputs = _called(func, given, "vjp", strict)
        vector = None
        if v is not None:
            vector = parts.fresh_vector(v, "vjp", outputs, many_outputs, create_graph)
        elif not _is_one_number(outputs):
            raise RuntimeError(_ONE_OUTPUT)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = parts.gradients(outputs, given, vector, create_graph=create_graph)
        product = parts.filled(found, given, strict, create_graph, parts.FIRST)
    return _finished(outputs, many_outputs, product, many_inputs, create_graph)


def jvp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Multiply the Jacobian of ``func`` at ``inputs`` with a vector.

    ``v`` has the sizes of the inputs, and may be left out for a single number. Returns
    (what func returned, the product in its sizes). It is found by differentiating
    backward twice; ``autograd.forward_ad`` needs one pass only.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.jvp(lambda x: x * x, x, torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        given, many_inputs = parts.as_tensors(inputs, "inputs", "jvp")
        given = parts.fresh(given, create_graph, needs_grad=True)
        vector = _vector_of_inputs(v, "jvp", given, many_inputs, create_graph)
        outputs, many_outputs = _called(func, given, "jvp", strict)
        # The gradient is linear in what comes in, whatever that is: differentiating
        # it by the incoming values gives the Jacobian, the other way round.
        incoming = _zeros_that_need_grad(outputs)
        gradients = parts.gradients(outputs, given, incoming, create_graph=True)
        if strict:
            parts.check_recorded(gradients, parts.GRADIENT_CONSTANT)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = parts.gradients(gradients, incoming, vector, create_graph=create_graph)
        product = parts.filled(
            found, outputs, strict, create_graph, parts.FIRST_FORWARD
        )
    return _finished(outputs, many_outputs, product, many_outputs, create_graph)


def vhp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Multiply a vector with the Hessian of a scalar function, from the left.

    ``v`` has the sizes of the inputs, and may be left out for a single number. Returns
    (what func returned, the product in the sizes of the inputs).

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), x, torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        given, many_inputs = parts.as_tensors(inputs, "inputs", "vhp")
        given = parts.fresh(given, create_graph, needs_grad=True)
        vector = _vector_of_inputs(v, "vhp", given, many_inputs, create_graph)
        outputs, gradients = _scalar_and_gradients(func, given, "vhp", strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = parts.gradients(gradients, given, vector, create_graph=create_graph)
        product = parts.filled(found, given, strict, create_graph, parts.SECOND)
    return _finished(outputs, False, product, many_inputs, create_graph)


def hvp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Multiply the Hessian of a scalar function with a vector.

    As :func:`vhp`, which is faster and gives the same wherever the function is twice
    continuously differentiable: the Hessian is symmetric there.

    >>> import gradtape as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), x, torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        given, many_inputs = parts.as_tensors(inputs, "inputs", "hvp")
        given = parts.fresh(given, create_graph, needs_grad=True)
        vector = _vector_of_inputs(v, "hvp", given, many_inputs, create_graph)
        outputs, gradients = _scalar_and_gradients(func, given, "hvp", strict)
        incoming = _zeros_that_need_grad(given)
        twice = parts.gradients(gradients, given, incoming, create_graph=True)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = parts.gradients(twice, incoming, vector, create_graph=create_graph)
        product = parts.filled(found, given, strict, create_graph, parts.SECOND_FORWARD)
    return _finished(outputs, False, product, many_inputs, create_graph)


def _called(
    func: Function, inputs: Tensors, function: str, strict: bool
) -> tuple[Tensors, bool]:
    """Call the user's function and check what it returned."""
    outputs, many = parts.as_tensors(func(*inputs), parts.OUTPUTS, function)
    if strict:
        parts.check_recorded(outputs, parts.OUTPUT_CONSTANT)
    return outputs, many


def _scalar_and_gradients(
    func: Function, inputs: Tensors, function: str, strict: bool
) -> tuple[Tensors, Gradients]:
    """Call a function that must return one number; return that and its gradients."""
    outputs, many = _called(func, inputs, function, strict)
    if many:
        raise RuntimeError(
            f"The function given to {function} should return a single Tensor"
        )
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain "
            "a single element"
        )
    gradients = parts.gradients(outputs, inputs, create_graph=True)
    if strict:
        parts.check_recorded(gradients, parts.JACOBIAN_CONSTANT)
    return outputs, gradients


def _vector_of_inputs(
    v: Any, function: str, inputs: Tensors, many: bool, create_graph: bool
) -> Tensors | None:
    if v is not None:
        return parts.fresh_vector(v, function, inputs, many, create_graph)
    if not _is_one_number(inputs):
        raise RuntimeError(_ONE_INPUT)
    return None


def _is_one_number(tensors: Tensors) -> bool:
    return len(tensors) == 1 and tensors[0].numel() == 1


def _zeros_that_need_grad(tensors: Tensors) -> Tensors:
    return tuple(zeros_like(each, requires_grad=True) for each in tensors)


def _finished(
    outputs: Tensors,
    many_outputs: bool,
    product: Tensors,
    many_products: bool,
    create_graph: bool,
) -> tuple[Any, Any]:
    outputs = parts.released(outputs, create_graph)
    product = parts.released(product, create_graph)
    return (
        parts.unpacked(outputs, many_outputs),
        parts.unpacked(product, many_products),
    )
