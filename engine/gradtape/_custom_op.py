"""CustomOpDef: a function of the user's that is one op, with a derivative of its own.

Each op is a ``Function`` that the user never sees: what they register becomes its
forward, its ``setup_context`` and its backward.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final, get_args

from ._dispatch import ask, asked
from ._inplace import note_write
from ._mode import mode
from ._tensor import Tensor
from ._tensor_parts import dispatching
from .autograd.function import Function
from .ops._custom import CustomPacket, put
from .utils._pytree import tree_flatten, tree_leaves

_ALIASED: Final = (
    "{} (with implementation in {}): The output of this custom operator (1) must not "
    "also be an input to this custom operator and (2) may not alias any inputs to this "
    "custom operator or other returns. The most common way to trigger this error is if "
    "we have y = custom_op(x) and y and x are the same Tensor. Please instead return a "
    "clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the "
    "custom operator to not return y."
)
_NO_FAKE: Final = (
    "There was no fake impl registered for {}. This is necessary for "
    "torch.compile/export/fx tracing to work. Please use `{}.register_fake` to add an "
    "fake impl."
)
_NO_FORMULA: Final = (
    "Trying to backward through {} but no autograd formula was registered. Please use "
    "register_autograd to add one."
)
_STRING: Final = (
    "mutates_args must either be a sequence of the names of the arguments that are "
    "mutated or the string 'unknown'. "
)
_UNKNOWN: Final = (
    "{} in mutates_args were not found in the custom op's signature. mutates_args "
    "should contain the names of all args that the custom op mutates, or just the "
    "string 'unknown' if you don't know."
)

_defined: dict[str, CustomOpDef] = {}
_fakes: dict[str, Callable[..., Any]] = {}
"""By the names of ops that are not defined, or not yet: an extension may be absent."""


def definition_of(op: Any) -> CustomOpDef:
    """Return the definition of an op, given itself, as an overload or by its name."""
    if isinstance(op, CustomOpDef):
        return op
    name = op if isinstance(op, str) else op.name()
    if name not in _defined:
        space, _, short = name.partition("::")
        raise AttributeError(
            f"'_OpNamespace' '{space}' object has no attribute '{short}'"
        )
    return _defined[name]


def register_fake(op: Any, fn: Callable[..., Any]) -> Callable[..., Any]:
    """Tell what an op gives for tensors without values; one of that name may follow."""
    if isinstance(op, str) and op not in _defined:
        _fakes[op] = fn
        return fn
    return definition_of(op).register_fake(fn)


class CustomOpDef:
    """An op made by :func:`gradtape.library.custom_op`."""

    def __init__(
        self,
        qualname: str,
        function: Callable[..., Any],
        mutates: str | Iterable[str],
        device_types: str | Iterable[str] | None,
        annotated: bool,
    ) -> None:
        self._namespace, self._name = qualname.split("::")
        self._qualname, self._init_fn = qualname, function
        self._signature = inspect.signature(function)
        self._mutates = _read_signature(self._signature, mutates, annotated)
        self._kernels: dict[str | None, Callable[..., Any]] = {}
        self._fake = _fakes.pop(qualname, None)
        self._backward: Callable[..., Any] | None = None
        self._setup_context: Callable[..., Any] | None = None
        self._vmap: Any = None
        self._function = _function_of(self)
        self._opoverload = CustomPacket(self._namespace, self._name, self).default
        self.register_kernel(device_types, function)
        put(self._opoverload.overloadpacket)  # pyright: ignore[reportArgumentType]
        _defined[qualname] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(
        self,
        device_types: str | Iterable[str] | None,
        fn: Callable[..., Any] | None = None,
        /,
    ) -> Any:
        """Give it a function for some devices, or for all; decorates too."""
        if fn is None:
            return lambda fn: self.register_kernel(device_types, fn)
        alone = device_types is None or isinstance(device_types, str)
        several: Any = (device_types,) if alone else device_types
        self._kernels.update(dict.fromkeys(several, fn))
        return fn

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Tell what it gives for tensors without values, on the meta device."""
        self._fake = fn
        return fn

    def register_vmap(
        self, func: Callable[..., Any] | None = None, /
    ) -> Callable[..., Any]:
        """Give it its rule for batches; without one, vmap runs each example."""
        if func is None:
            return self.register_vmap
        self._vmap = func
        return func

    def register_autograd(
        self,
        backward: Callable[..., Any],
        /,
        *,
        setup_context: Callable[..., Any] | None = None,
    ) -> None:
        """Give it its derivative, as for a ``Function`` with ``setup_context``."""
        if self._mutates:
            raise RuntimeError(
                "Cannot register autograd formula for non-functional operator "
                f"{self._opoverload}. Please create a functional operator and register "
                "an autograd formula for that."
            )
        self._backward, self._setup_context = backward, setup_context

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = tuple(bound.arguments.values())
        if mode.now.grad or mode.now.watch is not None:
            flat, spec = tree_flatten(values)
            found = self._function.apply(spec, *flat)
        else:
            found = self.run(*values)
        for name in self._mutates:
            for written in tree_leaves(bound.arguments[name]):
                if isinstance(written, Tensor):
                    note_write(written, self._qualname)
        return found

    def run(self, *values: Any) -> Any:
        """Compute it, without history: by a mode or class, or by its own function."""
        kinds = asked(tree_leaves(values)) if mode.now.dispatch or dispatching else None
        if kinds is not None:
            return ask(self._opoverload, kinds, values, {}, lambda a, _: self.run(*a))
        inputs = [each for each in tree_leaves(values) if isinstance(each, Tensor)]
        device = inputs[0].device.type if inputs else "cpu"
        kernel = self._kernels.get(device, self._kernels.get(None))
        if device == "meta":
            kernel = self._fake
            if kernel is None:
                raise RuntimeError(_NO_FAKE.format(self, self._init_fn.__name__))
        if kernel is None:
            raise NotImplementedError(
                f"Could not run '{self._qualname}' with arguments from the "
                f"'{device.upper()}' backend."
            )
        given, named = self.split(values)
        found = kernel(*given, **named)
        self._check_memory(inputs, tree_leaves(found), inspect.getmodule(kernel))
        return found

    def split(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Tell the arguments that go by place from those that go by name."""
        kinds = [p.kind for p in self._signature.parameters.values()]
        firsts = len(kinds) - kinds.count(inspect.Parameter.KEYWORD_ONLY)
        names = list(self._signature.parameters)[firsts:]
        return values[:firsts], dict(zip(names, values[firsts:], strict=True))

    def _check_memory(self, inputs: list[Any], results: list[Any], home: Any) -> None:
        seen = {id(each._storage.owner) for each in inputs}
        for each in results:
            if isinstance(each, Tensor):
                if id(each._storage.owner) in seen:
                    raise RuntimeError(_ALIASED.format(self._name, home))
                seen.add(id(each._storage.owner))


def _read_signature(
    signature: inspect.Signature, mutates: str | Iterable[str], annotated: bool
) -> tuple[str, ...]:
    """Return the names of what is written, or refuse a signature as PyTorch does.

    It need not be ``annotated`` where a schema says the same.
    """

    def refuse(what: str) -> ValueError:
        return ValueError(
            f"infer_schema(func): {what} Got func with signature {signature})"
        )

    for name, parameter in signature.parameters.items():
        hint = parameter.annotation
        if annotated and hint is parameter.empty:
            raise refuse(f"Parameter {name} must have a type annotation.")
        by_name = parameter.kind is parameter.KEYWORD_ONLY
        if by_name and Tensor in (hint, *get_args(hint)):
            raise NotImplementedError(
                "custom_op with kwarg-only Tensor args. Please make your tensors not "
                f"kwarg-only. Got: {signature}"
            )
    if mutates == "unknown":
        mutates = signature.parameters
    elif isinstance(mutates, str):
        raise ValueError(_STRING)
    unknown = set(mutates) - set(signature.parameters)
    if unknown:
        raise refuse(_UNKNOWN.format(unknown))
    if annotated and signature.return_annotation is signature.empty:
        raise refuse("No return type annotation was provided. Please add one.")
    return tuple(mutates)


def _function_of(op: CustomOpDef) -> Any:
    """Make the Function that records calls of an op: ``apply(spec, *leaves)``."""

    def forward(spec: Any, *flat: Any) -> Any:
        return op.run(*spec.unflatten(flat))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        spec, *flat = inputs
        ctx._spec = spec
        ctx.needs_input_grad = ctx.needs_input_grad[1:]
        if op._setup_context is not None and any(ctx.needs_input_grad):
            given = spec.unflatten(flat)
            op._setup_context(ctx=ctx, inputs=given, output=output)

    def backward(ctx: Any, *gradients: Any) -> Any:
        if op._backward is None:
            raise RuntimeError(_NO_FORMULA.format(op._opoverload))
        ctx.needs_input_grad = ctx._spec.unflatten(ctx.needs_input_grad)
        found = op._backward(ctx, *gradients)
        each = found if isinstance(found, tuple) else (found,)
        return (None, *_one_for_each(ctx._spec, each))

    def vmap(info: Any, in_dims: Any, spec: Any, *flat: Any) -> Any:
        given, named = op.split(spec.unflatten(flat))
        return op._vmap(
            info, spec.unflatten(in_dims[1:])[: len(given)], *given, **named
        )

    name = f"GeneratedBackwardFor_{op._namespace}_{op._name}_default"
    parts: dict[str, Callable[..., Any]] = {
        "forward": forward,
        "setup_context": setup_context,
        "backward": backward,
        "vmap": vmap,
        "_asks_for_batches": lambda: op._vmap is not None,
    }
    return type(name, (Function,), {key: staticmethod(f) for key, f in parts.items()})


def _one_for_each(spec: Any, gradients: tuple[Any, ...]) -> list[Any]:
    """Return the gradients of the arguments, those of lists one for each member."""
    found: list[Any] = []
    for child, gradient in zip(spec.children_specs, gradients, strict=True):
        whole = [None] * child.num_leaves if gradient is None else tree_leaves(gradient)
        found += whole
    return found
