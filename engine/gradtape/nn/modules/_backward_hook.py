"""Backward hooks of modules: identity nodes on what goes in and what comes out.

The node on the outputs sees the gradient as it enters the module, the node on the
inputs as it leaves; the user's hooks run once both are known.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..._common.site import user_stacklevel
from ..._graph.node import Node
from ..._modes.grad_mode import mode
from ..._tensor.tensor import Tensor
from ._functions import BackwardHookFunction

_NO_INPUT_GRADIENT = (
    "Full backward hook is firing when gradients are computed with respect to module "
    "outputs since no inputs require gradients. See "
    "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)


class BackwardHook:
    """The full backward hooks of one call of one module."""

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
