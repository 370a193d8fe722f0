"""Transforms in reverse mode: grad, grad_and_value, vjp and linearize."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from .._common import messages as _errors
from .._dispatch.declare import tensor_ops
from .._graph.node import Node, accumulator_of
from .._modes.grad_mode import enable_grad, inference_mode, is_grad_enabled, mode
from .._tensor.subclasses import dispatching
from .._tensor.tensor import Tensor, edge_of, wrap_alias
from ..autograd import grad as autograd_grad
from ..autograd.graph import disable_saved_tensors_hooks
from ..utils._pytree import tree_flatten, tree_map, treespec_pprint
from ._arguments import check_outputs, chosen, replaced, transforming, with_aux
from ._captures import guarding
from ._vmap import wraps


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of a scalar function.

    ``argnums`` says which arguments (trees of tensors, too) to differentiate; a tuple
    gives a tuple. With ``has_aux`` the function returns ``(output, aux)`` and the new
    one ``(gradient, aux)``. Raises RuntimeError where the output is no scalar.

    >>> import gradtape as torch
    >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(1.0))
    tensor(-0.8415)
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        found, value = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (found, value[1]) if has_aux else found

    return wrapper


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes gradient and value: ``(gradient, output)``.

    See :func:`grad`; with ``has_aux`` it is ``(gradient, (output, aux))``.

    >>> import gradtape as torch
    >>> torch.func.grad_and_value(torch.square)(torch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _grad_and_value(func, argnums, has_aux, args, kwargs)

    return wrapper


def _grad_and_value(
    func: Callable[..., Any],
    argnums: Any,
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, Any]:
    level = Reverse()
    with recording(level):
        inputs = level.enter(chosen(args, argnums))
        with guarding(func, (args, kwargs)):
            output = func(*replaced(args, argnums, inputs), **kwargs)
        api = "grad_and_value(f)(*args)"
        output, aux = with_aux(api, output, has_aux)
        if not isinstance(output, Tensor):
            raise RuntimeError(
                f"{api}: Expected f(*args) to return a Tensor, got {type(output)}"
            )
        if output.dim():
            raise RuntimeError(
                f"{api}: Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs "
                "instead?"
            )
        leaves, spec = tree_flatten(inputs)
        outside = level.records and level.leads_outside([output])
        found = gradients([output], leaves, None, keep=outside, create_graph=outside)
        result = level.leave(spec.unflatten(found))
        value = level.leave(output)
        return result, (value, level.leave(aux)) if has_aux else value


def vjp(
    func: Callable[..., Any], *primals: Any, has_aux: bool = False
) -> tuple[Any, ...]:
    """Return the output of a function and its vector-Jacobian product.

    The second is a function: given a cotangent for each output, in the same tree, it
    returns a tuple of the gradients of all ``primals``. With ``has_aux`` the function
    returns ``(output, aux)`` and a third value comes back, ``aux``.

    >>> import gradtape as torch
    >>> output, pull = torch.func.vjp(torch.exp, torch.zeros(2))
    >>> pull(torch.tensor([1.0, 2.0]))
    (tensor([1., 2.]),)
    """
    return vjp_of(func, primals, None, has_aux)


def vjp_of(
    func: Callable[..., Any], args: tuple[Any, ...], argnums: Any, has_aux: bool
) -> tuple[Any, ...]:
    """As :func:`vjp`, with respect to the arguments at ``argnums`` (None: all)."""
    level = Reverse()
    with recording(level):
        inputs = level.enter(args if argnums is None else chosen(args, argnums))
        with guarding(func, args):
            output = func(*replaced(args, argnums, inputs))
        output, aux = with_aux("vjp(f, *primals)", output, has_aux)
        flat_output, output_spec = tree_flatten(output)
        check_outputs(flat_output, "vjp(f, *primals)")
        for each in flat_output:
            if not (each.is_floating_point() or each.is_complex()):
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex "
                    f"Tensors, got Tensor with dtype {each.dtype}"
                )
        result = level.leave(output)
        aux = level.leave(aux) if has_aux else None
    flat_inputs, input_spec = tree_flatten(inputs)

    def pull(
        cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        given, spec = tree_flatten(cotangents)
        if spec != output_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree "
                "structure of outputs to the function. cotangents: "
                f"{treespec_pprint(spec)}, primal output: "
                f"{treespec_pprint(output_spec)}"
            )
        for each in given:
            if not isinstance(each, Tensor):
                raise TypeError(
                    "gradients can be either Tensors or None, but got "
                    f"{type(each).__name__}"
                )
        records = is_grad_enabled() if create_graph is None else create_graph
        needed = records and level.leads_outside([*flat_output, *given])
        found = gradients(
            flat_output,
            flat_inputs,
            given,
            keep=retain_graph,
            create_graph=needed,
        )
        return input_spec.unflatten([level.lifted(g, records) for g in found])

    return (result, pull, aux) if has_aux else (result, pull)


def linearize(
    func: Callable[..., Any], *primals: Any
) -> tuple[Any, Callable[..., Any]]:
    """Return the output of a function, and the linear map it is near ``primals``.

    The map takes a tangent per primal and returns the outputs' tangents. The function
    runs once, and the map can be used often: it is the transpose of the transpose.
    Raises RuntimeError where a tangent does not fit its primal.

    >>> import gradtape as torch
    >>> output, push = torch.func.linearize(torch.square, torch.tensor([1.0, 2.0]))
    >>> push(torch.ones(2))
    tensor([2., 4.])
    """
    level = Reverse()
    with recording(level):
        inputs = level.enter(primals)
        output = func(*inputs)
        flat_output, output_spec = tree_flatten(output)
        check_outputs(flat_output, "linearize(f, *primals)")
        result = level.leave(output)
        flat_inputs, input_spec = tree_flatten(inputs)
        dummies = [tensor_ops.zeros_like(without_history(o)) for o in flat_output]
        for dummy in dummies:
            level.own(dummy)
        pulled = gradients(
            flat_output, flat_inputs, dummies, keep=True, create_graph=True
        )

    def push(*tangents: Any) -> Any:
        given, spec = tree_flatten(tangents)
        if spec != input_spec:
            raise RuntimeError(
                f"Expected the tangents {spec} to have the same argspec as the primals "
                f"{input_spec}"
            )
        for index, (tangent, primal) in enumerate(zip(given, flat_inputs, strict=True)):
            _check_tangent(index, tangent, primal)
        records = is_grad_enabled()
        needed = records and level.leads_outside([*flat_output, *given])
        found = gradients(pulled, dummies, given, keep=True, create_graph=needed)
        return output_spec.unflatten([level.lifted(t, records) for t in found])

    return result, push


def _check_tangent(index: int, tangent: Tensor, primal: Tensor) -> None:
    for fact in ("shape", "device", "dtype"):
        mine, theirs = getattr(tangent, fact), getattr(primal, fact)
        if mine != theirs:
            raise RuntimeError(
                f"tangent:{index} with {fact} {mine} in flattened pytree doesn't match "
                f"the {fact} {theirs} of the corresponding primal."
            )


# ---- what keeps derivatives of one transform apart from those of another -----

_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. "
    "Please open an issue with your use case."
)


class _Running:
    """Whether a transform is still under way."""

    on = True


_private: weakref.WeakKeyDictionary[Node, _Running] = weakref.WeakKeyDictionary()
"""The leaves that transforms made for themselves."""


class Reverse:
    """One transform under way: its own copies of the inputs, and what is outside."""

    def __init__(self) -> None:
        self.records = is_grad_enabled()  # whether anybody outside differentiates
        self.leaves: set[Node] = set()
        self.running = _Running()

    def own(self, leaf: Tensor) -> None:
        """Make a leaf one that nobody outside differentiates by."""
        if leaf._data.dtype.kind not in "fcV":  # PyTorch calls requires_grad_() here
            raise RuntimeError(_errors.NOT_DIFFERENTIABLE_DTYPE)
        leaf.requires_grad = True
        node = accumulator_of(leaf)
        self.leaves.add(node)
        _private[node] = self.running

    def enter(self, tree: Any) -> Any:
        """Return the tree with this transform's own copies of its tensors."""
        return tree_map(self._enter, tree)

    def _enter(self, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise ValueError(
                f"Thing passed to transform API must be Tensor, got {type(value)}"
            )
        if value.requires_grad:
            return tensor_ops.view(value, value._data.shape)
        copy = without_history(value)
        self.own(copy)
        return copy

    def leave(self, tree: Any) -> Any:
        """Return the tree with tensors that know only of what is outside."""
        return tree_map(self._leave, tree)

    def _leave(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
        return self.lifted(value, self.records)

    def lifted(self, value: Tensor, records: bool) -> Tensor:
        """Return a tensor without its history, unless that is of use outside."""
        if not value.requires_grad or (records and self.leads_outside([value])):
            return value
        return without_history(value)

    def leads_outside(self, tensors: Iterable[Tensor]) -> bool:
        """Tell whether someone outside differentiates what these depend on.

        That is a leaf of nobody's, or one of a transform that this one runs inside of.
        """
        stack = [node for t in tensors if (node := edge_of(t)) is not None]
        seen: set[Node] = set()
        while stack:
            node = stack.pop()
            if node.accumulates and node not in self.leaves:
                owner = _private.get(node)
                if owner is None or owner.on:
                    return True
            if node not in seen:
                seen.add(node)
                stack += [n for n in node.nodes if n is not None]
        return False


def without_history(tensor: Tensor) -> Tensor:
    """Return an alias that no gradient flows through; tangents stay."""
    own = type(tensor) in dispatching
    alias: Tensor = tensor.detach() if own else wrap_alias(tensor._data, tensor)  # type: ignore[attr-defined]
    if mode.now.duals is not None:
        mode.now.duals.shared(tensor, alias)
    if mode.now.watch is not None:
        mode.now.watch.follow(tensor, alias)
    return alias


@contextlib.contextmanager
def recording(level: Reverse) -> Generator[None]:
    """Record what a transformed function does, whatever the mode outside."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(disable_saved_tensors_hooks(_NO_HOOKS))
        if mode.now.inference:
            stack.enter_context(inference_mode(False))
        stack.enter_context(enable_grad())
        stack.enter_context(transforming())
        try:
            yield
        finally:
            level.running.on = False


def gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    cotangents: Sequence[Tensor] | None,
    *,
    keep: bool,
    create_graph: bool,
) -> list[Tensor]:
    """Return the gradients of all inputs, zeros for those that play no part."""
    at = [i for i, output in enumerate(outputs) if output.requires_grad]
    found: Sequence[Tensor | None] = [None] * len(inputs)
    if at and inputs:
        found = autograd_grad(
            [outputs[i] for i in at],
            inputs,
            None if cotangents is None else [cotangents[i] for i in at],
            retain_graph=keep,
            create_graph=create_graph,
            allow_unused=True,
        )
    all_found = [
        tensor_ops.zeros_like(without_history(x)) if g is None else g
        for g, x in zip(found, inputs, strict=True)
    ]
    if mode.now.watch is not None:
        for gradient, x in zip(all_found, inputs, strict=True):
            mode.now.watch.follow(x, gradient)
    return all_found
