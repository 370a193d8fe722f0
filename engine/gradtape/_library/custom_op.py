"""CustomOpDef: a function of the user's that is one op, with a derivative of its own.

Each op is a ``Function`` that the user never sees: what they register becomes its
forward, its ``setup_context`` and its backward.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

from .. import ops
from .._dispatch.inplace import note_write
from .._modes.grad_mode import mode
from .._overrides.torch_dispatch import ask, asked
from .._tensor.subclasses import dispatching
from .._tensor.tensor import Tensor
from ..autograd.function import Function
from ..ops._custom import absent, put
from ..utils._pytree import tree_flatten, tree_leaves
from .infer_schema import infer_schema
from .schema import Schema, parse_schema
from .tags import listed

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
_NO_META: Final = (
    "{}: attempted to run this operator with Meta tensors, but there was no fake impl "
    "or Meta kernel registered. You may have run into this message while using an "
    "operator with PT2 compilation APIs (torch.compile/torch.export); in order to use "
    "this operator with those APIs you'll need to add a fake impl. Please see the "
    "following for next steps:  "
    "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
)
_TENSOR_BY_NAME: Final = (
    "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. "
    "Got: {}"
)
_NO_FORMULA: Final = (
    "Trying to backward through {} but no autograd formula was registered. Please use "
    "register_autograd to add one."
)
_INCONSISTENT: Final = (
    "Attempted to create a custom op with `mutates_args={}` and `schema={}. The schema "
    "suggests that the op mutates {}which is different from what was provided to us in "
    "`mutates_args`. Please make these consistent."
)

defined: dict[str, UserOp] = {}
_fakes: dict[str, Callable[..., Any]] = {}
"""By the names of ops of extensions whose compiled ops cannot be loaded."""


def definition_of(op: Any) -> UserOp:
    """Return the definition of an op, given itself, as an overload or by its name."""
    if isinstance(op, UserOp):
        return op
    name = op if isinstance(op, str) else op.name()
    if name not in defined:
        space, _, short = name.partition("::")
        raise AttributeError(
            f"'_OpNamespace' '{space}' object has no attribute '{short}'"
        )
    return defined[name]


def register_fake(op: Any, fn: Callable[..., Any]) -> Callable[..., Any]:
    """Tell what an op gives for tensors without values.

    Raises RuntimeError for the name of none, unless an extension has one of that name.
    """
    if isinstance(op, str) and op not in defined:
        space, _, name = op.partition("::")
        if space not in absent and not hasattr(getattr(ops, space), name):
            raise RuntimeError(f"operator {op} does not exist")
        _fakes[op] = fn
        return fn
    return definition_of(op).register_fake(fn)


class UserOp:
    """An op that is not built in: what was registered for a schema."""

    def __init__(self, schema: Schema, tags: Any = ()) -> None:
        self._schema = schema
        self._qualname = name = self._schema.full_name
        self._namespace, _, self._name = name.partition("::")
        self._mutates = [a.name for a in self._schema.arguments if a.is_write]
        self._kernels: dict[str | None, Callable[..., Any]] = {}
        self._fake = _fakes.pop(name, None)
        self._backward: Callable[..., Any] | None = None
        self._setup_context: Callable[..., Any] | None = None
        self._vmap: Any = None
        self._function = _function_of(self)
        self._opoverload = put(self, listed(tags))
        defined[name] = self

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

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._evaluate(self._schema.bind(args, kwargs))

    @property
    def has_derivative(self) -> bool:
        """Whether somebody said how it is differentiated."""
        return self._backward is not None

    def _evaluate(self, values: tuple[Any, ...]) -> Any:
        """Compute it, with its derivative if somebody differentiates."""
        if mode.now.grad or mode.now.watch is not None:
            flat, spec = tree_flatten(values)
            found = self._function.apply(spec, *flat)
        else:
            found = self.run(*values)
        self._written(values)
        return found

    def _written(self, values: tuple[Any, ...]) -> list[Tensor]:
        """Note that it wrote to what its schema says, and return that."""
        pairs = zip(self._schema.arguments, values, strict=True)
        trees = [value for argument, value in pairs if argument.is_write]
        found = [each for each in tree_leaves(trees) if isinstance(each, Tensor)]
        for each in found:
            note_write(each, self._qualname)
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
                raise self._no_fake()
        if kernel is None:
            raise NotImplementedError(
                f"Could not run '{self._qualname}' with arguments from the "
                f"'{device.upper()}' backend."
            )
        given, named = self._schema.split(values)
        found = kernel(*given, **named)
        self._check_results(inputs, tree_leaves(found), kernel)
        return found

    def _no_fake(self) -> Exception:
        return NotImplementedError(_NO_META.format(self._qualname))

    def _check_results(
        self, inputs: list[Any], results: list[Any], kernel: Callable[..., Any]
    ) -> None:
        """Refuse what a kernel may not give; here it may give all."""


class CustomOpDef(UserOp):
    """An op made by :func:`gradtape.library.custom_op`."""

    def __init__(
        self,
        qualname: str,
        function: Callable[..., Any],
        mutates: str | Iterable[str],
        device_types: str | Iterable[str] | None,
        schema: str | None,
        tags: Any = (),
    ) -> None:
        inferred = schema is None
        if schema is None:
            schema = infer_schema(function, mutates_args=mutates)
        self._init_fn = function
        parsed = parse_schema(qualname + schema)
        for argument in parsed.arguments:
            if argument.kwarg_only and argument.kind.startswith("Tensor"):
                raise NotImplementedError(_TENSOR_BY_NAME.format(parsed))
        written = {argument.name for argument in parsed.arguments if argument.is_write}
        if not inferred and written != set(mutates):
            raise ValueError(_INCONSISTENT.format(mutates, schema, written))
        super().__init__(parsed, tags)
        self.register_kernel(device_types, function)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def _no_fake(self) -> Exception:
        return RuntimeError(_NO_FAKE.format(self, self._init_fn.__name__))

    def _check_results(
        self, inputs: list[Any], results: list[Any], kernel: Callable[..., Any]
    ) -> None:
        home = inspect.getmodule(kernel)
        seen = {id(each._storage.owner) for each in inputs}
        for each in results:
            if isinstance(each, Tensor):
                if id(each._storage.owner) in seen:
                    raise RuntimeError(_ALIASED.format(self._name, home))
                seen.add(id(each._storage.owner))


def _function_of(op: UserOp) -> Any:
    """Make the Function that records calls of an op: ``apply(spec, *leaves)``."""

    def forward(spec: Any, *flat: Any) -> Any:
        return op.run(*spec.unflatten(flat))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        spec, *flat = inputs
        ctx._spec = spec
        ctx._least = len(op._schema.split(spec.unflatten(flat))[0])
        ctx.needs_input_grad = ctx.needs_input_grad[1:]
        if op._setup_context is not None and any(ctx.needs_input_grad):
            given, named = op._schema.parts(spec.unflatten(flat))
            by_name = {"keyword_only_inputs": named} if named else {}
            op._setup_context(ctx=ctx, inputs=given, output=output, **by_name)

    def backward(ctx: Any, *gradients: Any) -> Any:
        if op._backward is None:
            raise RuntimeError(_NO_FORMULA.format(op._opoverload))
        needs = ctx._spec.unflatten(ctx.needs_input_grad)
        ctx.needs_input_grad = needs[: op._schema.positional]
        found = op._backward(ctx, *gradients)
        each = found if isinstance(found, tuple) else (found,)
        # What was given by name, or not at all, has no gradient.
        each += (None,) * (len(needs) - max(len(each), ctx._least))
        return (None, *_one_for_each(ctx._spec, each))

    def vmap(info: Any, in_dims: Any, spec: Any, *flat: Any) -> Any:
        given, named = op._schema.split(spec.unflatten(flat))
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
