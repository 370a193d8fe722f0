"""Backward hooks of modules, the full ones and the older kind."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ...._common.site import user_stacklevel
from ...._graph.node import Node
from ...._modes.grad_mode import mode
from ...._tensor.tensor import Tensor
from .._functions import BackwardHookFunction
from .wrapped_hook import WrappedHook

_NO_INPUT_GRADIENT = (
    "Full backward hook is firing when gradients are computed with respect to module "
    "outputs since no inputs require gradients. See "
    "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)


class BackwardHook:
    """The full backward hooks of one call of one module."""

    __module__ = "gradtape.utils.hooks"

    def __init__(
        self, module: Any, hooks: Sequence[Any], pre_hooks: Sequence[Any]
    ) -> None:
        self.module = module
        self.user_hooks = hooks
        self.user_pre_hooks = pre_hooks
        self.grad_outputs: Any = None
        self.input_tensors_index: list[int] | None = None
        self.inputs = 0

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Put the identity node on the inputs; return the arguments to call with."""
        self.inputs = len(args)

        def attach(node: Node) -> None:
            def hook(grads: Any, _: Any) -> Any:  # errors name the hook
                return self._at_inputs(grads)

            node.register_hook(hook)

        found, self.input_tensors_index = self._on_tensors(attach, args)
        return found

    def setup_output_hook(self, result: Any) -> Any:
        """Put the identity node on the outputs; return what the module returns."""
        single = not isinstance(result, tuple)
        outputs = (result,) if single else result

        def attach(node: Node) -> None:
            def hook(_: Any, grads: Any) -> Any:
                return self._at_outputs(grads, len(outputs))

            node.register_hook(hook)

        found, self.output_places = self._on_tensors(attach, outputs)
        return found[0] if single else found

    def _on_tensors(
        self, attach: Callable[[Node], None], args: Any
    ) -> tuple[Any, list[int] | None]:
        places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        if not mode.grad or not any(args[i].requires_grad for i in places):
            return args, None
        twins = BackwardHookFunction.apply(*[args[i] for i in places])
        attach(next(twin.grad_fn for twin in twins if twin.grad_fn is not None))
        replaced = list(args)
        for place, twin in zip(places, twins, strict=True):
            replaced[place] = twin
        if type(args) is tuple:
            return tuple(replaced), places
        return type(args)(*replaced), places

    def _at_outputs(self, grads: Any, count: int) -> Any:
        assert self.output_places is not None
        full = _spread(self.output_places, grads, count)
        for hook in self.user_pre_hooks:
            returned = hook(self.module, full)
            if returned is not None:
                full = _checked("Backward pre hook", "grad_output", returned, count)
        self.grad_outputs = full
        if self.input_tensors_index is None:
            level = user_stacklevel()
            warnings.warn(_NO_INPUT_GRADIENT, UserWarning, stacklevel=level)
            nothing = tuple([None] * self.inputs)
            for hook in self.user_hooks:
                returned = hook(self.module, nothing, full)
                if returned is not None and any(g is not None for g in returned):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient "
                        "should always return None or None for all gradients."
                    )
            self.grad_outputs = None
        return tuple(full[i] for i in self.output_places)

    def _at_inputs(self, grads: Any) -> Any:
        if self.grad_outputs is None:
            return None  # what arrives did not pass the output: a second derivative
        assert self.input_tensors_index is not None
        found = _spread(self.input_tensors_index, grads, self.inputs)
        for hook in self.user_hooks:
            returned = hook(self.module, found, self.grad_outputs)
            if returned is not None:
                found = _checked("Backward hook", "grad_input", returned, self.inputs)
        self.grad_outputs = None
        return tuple(found[i] for i in self.input_tensors_index)


def _spread(places: Sequence[int], grads: Sequence[Any], count: int) -> Any:
    full: list[Any] = [None] * count
    for place, grad in zip(places, grads, strict=True):
        full[place] = grad
    return tuple(full)


def _checked(what: str, side: str, returned: Any, count: int) -> Any:
    if len(returned) != count:
        raise RuntimeError(
            f"{what} returned an invalid number of {side}, got {len(returned)}, but "
            f"expected {count}"
        )
    return returned


_OUTPUT_KIND = (
    "Using non-full backward hooks on a Module that does not return a single Tensor or "
    "a tuple of Tensors is deprecated and will be removed in future versions. This "
    "hook will be missing some of the grad_output. Please use "
    "register_full_backward_hook to get the documented behavior."
)
_INPUT_KIND = (
    "Using non-full backward hooks on a Module that does not take as input a single "
    "Tensor or a tuple of Tensors is deprecated and will be removed in future "
    "versions. This hook will be missing some of the grad_input. Please use "
    "register_full_backward_hook to get the documented behavior."
)
_SEVERAL_NODES = (
    "Using a non-full backward hook when outputs are generated by different autograd "
    "Nodes is deprecated and will be removed in future versions. This hook will be "
    "missing some grad_output. Please use register_full_backward_hook to get the "
    "documented behavior."
)
_SEVERAL_STEPS = (
    "Using a non-full backward hook when the forward contains multiple autograd Nodes "
    "is deprecated and will be removed in future versions. This hook will be missing "
    "some grad_input. Please use register_full_backward_hook to get the documented "
    "behavior."
)
_NESTED = (
    "Using a non-full backward hook when outputs are nested in python data structure "
    "is deprecated and will be removed in future versions. This hook will be missing "
    "some grad_output."
)


def register_module_node_hook(
    module: Any, hooks: Sequence[Any], args: Any, result: Any
) -> None:
    """Hang hooks on the node that made the module's output; warn what they miss."""
    first = result
    while not isinstance(first, Tensor):
        if isinstance(first, dict):
            first = next(each for each in first.values() if isinstance(each, Tensor))
        else:
            first = first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(WrappedHook(hook, module))
    missed = _what_is_missed(args, result, node)
    if missed:
        warnings.warn(missed, FutureWarning, stacklevel=user_stacklevel())


def _what_is_missed(args: Any, result: Any, node: Any) -> str:
    """Return the warning for a module of more than one node; "" for any other."""
    results = (result,) if isinstance(result, Tensor) else result
    if not _are_tensors(results):
        return _OUTPUT_KIND
    if not _are_tensors(args):
        return _INPUT_KIND
    makers = {each.grad_fn for each in results if each.grad_fn is not None}
    if len(makers) > 1:
        return _SEVERAL_NODES
    if node not in makers:
        return _NESTED
    sources = {each.grad_fn for each in args if each.grad_fn is not None}
    return "" if sources == set(node.nodes) else _SEVERAL_STEPS


def _are_tensors(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(v, Tensor) for v in values)
