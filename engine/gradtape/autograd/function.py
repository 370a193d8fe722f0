"""``autograd.Function``: operations whose derivative the user writes."""

from __future__ import annotations

import functools
import inspect
import itertools
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from .._modes.grad_mode import is_grad_enabled, mode, no_grad
from .._modes.transforms import active
from .._random.vmap import vmaps
from .._tensor.tensor import Tensor
from ._function.apply import call, in_order
from ._function.context import DelayedError, FunctionCtx
from ._function.node import CustomNode

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]

AUTOGRAD_FUNCTION_COUNTER = itertools.count()
"""Numbers the subclasses of Function in the order they are defined."""

_NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom "
    "autograd.Function to use it with backward mode AD."
)
_TWO_BACKWARDS = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
    "should only implement one of them."
)
_RULES = (
    "You tried to vmap over {name}, but it {fault}. For more details, please see "
    "https://pytorch.org/docs/main/notes/extending.func.html"
)
_NO_RULE = (
    "does not have vmap support. Please override and implement the vmap staticmethod "
    "or set generate_vmap_rule=True"
)
_TWO_RULES = (
    "has both generate_vmap_rule=True and an overridden vmap staticmethod. Please set "
    "generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
    "ambiguity"
)
_BY_NAME = (
    "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass "
    "kwarg-only Tensors to autograd.Function. Got: {}"
)
_LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use "
    "new-style autograd function with static forward method. (Example: "
    "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)
_INSTANCE = (
    "{cls} should not be instantiated. Methods on autograd functions are all static, "
    "so you should invoke them on the class itself. Instantiating an autograd function "
    "will raise an error in a future version of PyTorch."
)

_ContextMethodMixin = FunctionCtx
"""The name that old pickles know."""


class BackwardCFunction(CustomNode, FunctionCtx):
    """The node of a custom function's call; ``ctx`` in its forward and backward."""

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of ``saved_tensors``."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.saved_tensors

    def _get_user_fn(self) -> Callable[..., Any]:
        cls = self._forward_cls
        if cls.backward is Function.backward:
            return cls.vjp
        if cls.vjp is not Function.vjp:
            raise RuntimeError(_TWO_BACKWARDS)
        return cls.backward

    def apply(self, *gradients: Any) -> Any:
        """Call the user's ``backward`` on the gradients of the outputs."""
        if self._forward_cls.boxed_grads_call:
            return self._get_user_fn()(self, list(gradients))
        return self._get_user_fn()(self, *gradients)

    def apply_boxed(self, *gradients: Any) -> Any:
        """Call the user's ``backward`` on one list that holds the gradients."""
        return self._get_user_fn()(self, *gradients)

    def apply_jvp(self, *args: Any) -> Any:
        """Call the user's ``jvp`` on the tangents of the inputs."""
        return self._forward_cls.jvp(self, *args)


class FunctionMeta(type):
    """Gives every Function the class of its nodes, ``_backward_cls``."""

    _backward_cls: type[BackwardCFunction]

    def __init__(
        cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]
    ) -> None:
        cls._backward_cls = type(
            f"{name}Backward",
            (BackwardCFunction,),
            {
                "_autograd_function_id": next(AUTOGRAD_FUNCTION_COUNTER),
                "_forward_cls": cls,
            },
        )
        super().__init__(name, bases, attrs)


class Function(CustomNode, FunctionCtx, metaclass=FunctionMeta):
    """Base of operations with a derivative of the user's own.

    A subclass has static methods ``forward`` and ``backward`` and is called through
    ``apply``. Either ``forward(ctx, *args)`` does both jobs, or ``forward(*args)``
    computes and ``setup_context(ctx, inputs, output)`` saves what backward needs.

    >>> import gradtape as torch
    >>> class Exp(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         result = x.exp()
    ...         ctx.save_for_backward(result)
    ...         return result
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (result,) = ctx.saved_tensors
    ...         return grad * result
    >>> Exp.apply(torch.zeros(2, requires_grad=True))
    tensor([1., 1.], grad_fn=<ExpBackward>)
    """

    generate_vmap_rule: ClassVar[bool] = False
    """Whether vmap may run forward, backward and jvp on batches to find its rule."""

    clear_saved_tensors_on_access: ClassVar[bool] = False
    """Whether reading ``ctx.saved_tensors`` in backward lets go of them at once."""

    boxed_grads_call: ClassVar[bool] = False
    """Whether backward gets one list of gradients, which it may empty early."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        text = _INSTANCE.format(cls=self.__class__)
        warnings.warn(text, DeprecationWarning, stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(_LEGACY)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: a tensor, or a tuple of tensors and other values.

        Takes ``ctx`` first, unless ``setup_context`` is overridden. Runs without
        recording.
        """
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save on ``ctx`` what the derivative needs of a call's inputs and output."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return one gradient per argument of forward, None where there is none.

        Takes one gradient per output of forward. ``ctx.needs_input_grad`` tells which
        results are wanted.
        """
        raise NotImplementedError(_NO_BACKWARD)

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return one tangent per output of forward, given one per argument."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use "
            "it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """Return (output, out_dims) of a call whose arguments have a batch dimension.

        ``in_dims`` says which dimension that is, per argument; ``info.batch_size`` and
        ``info.randomness`` describe the vmap around the call. Called in the place of
        ``forward`` and, where nothing within the vmap differentiates, ``backward``.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap "
            "staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the operation and record it."""
        separate = cls.setup_context is not Function.setup_context
        if separate:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            if mode.now.watch is not None:
                cls._check_rule_for_batches(kwargs)
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            args = in_order(cls.forward, args, kwargs, skip=0 if separate else 1)
        forward = cls.forward
        if separate and vmaps.groups and cls._asks_for_batches():
            group = vmaps.groups[-1]
            forward = functools.partial(group.ask, cls.vmap, cls.apply)
            if group.depth == active.depth:  # nothing differentiates within the vmap
                return forward(*args)
        return call(cls, args, separate, forward)

    @classmethod
    def _asks_for_batches(cls) -> bool:
        """Tell whether vmap is to call the rule instead of ``forward``."""
        return cls.vmap is not Function.vmap

    @classmethod
    def _check_rule_for_batches(cls, named: dict[str, Any]) -> None:
        """Refuse to be mapped without a rule for batches, or with two of them."""
        if any(isinstance(each, Tensor) for each in named.values()):
            raise NotImplementedError(_BY_NAME.format(named))
        ruled = cls.vmap is not Function.vmap
        if ruled == cls.generate_vmap_rule:
            fault = _TWO_RULES if ruled else _NO_RULE
            raise RuntimeError(_RULES.format(name=cls.__name__, fault=fault))


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let a ``backward`` run unrecorded; differentiating its result is an error.

    >>> import gradtape as torch
    >>> from gradtape.autograd.function import once_differentiable
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = torch.ones((), requires_grad=True)
    >>> torch.autograd.grad(Double.apply(x), x)
    (tensor(2.),)
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *args, **kwargs)
        if not is_grad_enabled():
            return outputs
        if not any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        refuse = DelayedError(
            "trying to differentiate twice a function that was marked with "
            "@once_differentiable",
            len(several),
        )
        return refuse(*(_standing_in(each) for each in several))

    return wrapper


def _standing_in(tensor: Tensor | None) -> Tensor | None:
    """Return an alias that needs a gradient, so that a node can hang behind it."""
    if tensor is None:
        return None
    alias: Any = tensor.detach()
    alias.requires_grad = True
    return alias


class InplaceFunction(Function):
    """A Function that remembers whether it works in place. Kept for old programs."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """A Function whose arguments and results may be nested. Kept for old programs."""

    def forward_extended(self, *input: Any) -> Any:
        """Compute the outputs of nested arguments: to be overridden."""
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> Any:
        """Return the gradients of nested arguments: to be overridden."""
        raise NotImplementedError
