"""opcheck: whether an op does what its schema and registrations say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from .._common.refusals import OutOfReachError
from .._dispatch.declare import FUNCTIONS
from .._tensor.tensor import Tensor
from ..ops._aten import OpOverload, OpOverloadPacket
from ..ops._custom import CustomOverload
from ..testing import assert_close
from ..utils._pytree import tree_leaves, tree_map
from .custom_op import UserOp, definition_of

_NOT_DIFFERENTIABLE: Final = (
    "{}: at least one output of this operator has requires_grad=True but the operator "
    "does not have an autograd kernel defined at an autograd key (e.g. "
    "DispatchKey::Autograd). This could mean that you have incorrectly registered an "
    "autograd kernel to a non-Autograd DispatchKey, which may lead to silently "
    "incorrect results. If your operator consists of regular PyTorch operations, "
    "consider not using an operator at all or registering your operator as "
    "CompositeImplicitAutograd. If you have an autograd.Function registered to a "
    "backend (CPU/CUDA/XPU) key, the correct location for it is the Autograd key."
)


class OpCheckError(Exception):
    """An op that does not do what it says."""


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = (),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Check one call of an op of the user's; return what each test found.

    ``test_schema``: it writes to what the schema says, and its results are new memory.
    ``test_autograd_registration``: its derivative is registered as one.
    ``test_faketensor``: on the meta device it gives the same shapes and dtypes.
    ``test_aot_dispatch_dynamic``: so do its gradients, which come out twice the same.
    Raises OpCheckError where one fails, unless ``raise_exception`` is False.

    >>> import gradtape as torch
    >>> @torch.library.custom_op("docs::checked", mutates_args=())
    ... def checked(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> torch.library.opcheck(checked, (torch.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "opcheck(op, ...): if you specify one of rtol/atol, you must specify both"
        )
    if isinstance(op, OpOverloadPacket):
        op = op.default
    if not isinstance(op, UserOp | OpOverload):
        raise ValueError(
            "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. "
            f"torch.ops.aten.sin.default, got {type(op)}"
        )
    if not isinstance(op, UserOp | CustomOverload):
        raise OutOfReachError(f"opcheck of the built-in op {op} is out of reach")
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(names) <= set(_TESTS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={test_utils}), expected test_utils to be "
            f"subset of {tuple(_TESTS)} but it was not"
        )
    found: dict[str, Any] = {}
    for name in names or _TESTS:
        try:
            _TESTS[name](definition_of(op), args, kwargs or {}, (rtol, atol))
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for "
                    "stack trace)"
                ) from error
            found[name] = error
    return found


def _tensors(tree: Any) -> list[Tensor]:
    return [each for each in tree_leaves(tree) if isinstance(each, Tensor)]


def _copies(tree: Any) -> Any:
    """Return leaves of the same values, which a call may write to."""

    def copy(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        twin: Any = FUNCTIONS["clone"](value.detach())  # type: ignore[attr-defined]
        return twin.requires_grad_(value.requires_grad)

    return tree_map(copy, tree)


def _test_schema(op: UserOp, args: Any, kwargs: Any, _: Any) -> None:
    values = [_copies(value) for value in op._schema.bind(args, kwargs)]
    before = [_copies(value) for value in values]
    given, named = op._schema.split(tuple(values))
    results = _tensors(op(*_detached(given), **_detached(named)))
    for argument, value, old in zip(op._schema.arguments, values, before, strict=True):
        pairs = zip(_tensors(value), _tensors(old), strict=True)
        same = all(bool(((x == y) | (x.isnan() & y.isnan())).all()) for x, y in pairs)  # type: ignore[attr-defined]
        if not same and not argument.is_write:
            raise RuntimeError(
                f"Argument {argument.name} is not defined as mutable but was mutated"
            )
        owners = {id(each._storage.owner) for each in _tensors(value)}
        aliases = any(id(each._storage.owner) in owners for each in results)
        if aliases and not argument.alias:
            raise RuntimeError(
                f"Argument {argument.name} is not defined to alias output but was "
                "aliasing"
            )


def _detached(tree: Any) -> Any:
    return tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, tree)


def _test_autograd(op: UserOp, args: Any, kwargs: Any, _: Any) -> None:
    given = _tensors((args, kwargs))
    if op.has_derivative or not any(each.requires_grad for each in given):
        return
    results = _tensors(op.run(*op._schema.bind(args, kwargs)))
    if any(r.requires_grad and all(r is not x for x in given) for r in results):
        raise AssertionError(_NOT_DIFFERENTIABLE.format(op._qualname))


def _on_meta(tree: Any) -> Any:
    return tree_map(lambda x: x.to("meta") if isinstance(x, Tensor) else x, tree)


def _test_fake(op: UserOp, args: Any, kwargs: Any, _: Any) -> None:
    args, kwargs = _copies(args), _copies(kwargs)
    fakes = _tensors(op(*_on_meta(args), **_on_meta(kwargs)))
    for real, fake in zip(_tensors(op(*args, **kwargs)), fakes, strict=True):
        mine, theirs = (
            f"{each.dtype} of shape {tuple(each.shape)} and strides {each.stride()}"
            for each in (real, fake)
        )
        if mine != theirs:
            raise AssertionError(
                f"{op._qualname} gives {mine}, but its fake impl {theirs}"
            )


def _test_gradients(op: UserOp, args: Any, kwargs: Any, tolerances: Any) -> None:
    _test_fake(op, args, kwargs, tolerances)
    first, second = (_with_gradients(op, args, kwargs) for _ in range(2))
    rtol, atol = tolerances
    for mine, theirs in zip(first, second, strict=True):
        assert_close(mine, theirs, rtol=rtol, atol=atol)


def _with_gradients(op: UserOp, args: Any, kwargs: Any) -> list[Any]:
    """Return what a call gives, and the gradients of what asks for them."""
    args, kwargs = _copies(args), _copies(kwargs)
    results = _tensors(op(*args, **kwargs))
    for each in results:
        if each.requires_grad:
            each.sum().backward(retain_graph=True)  # type: ignore[attr-defined]
    leaves = [each for each in _tensors((args, kwargs)) if each.requires_grad]
    return [*(each.detach() for each in results), *(each.grad for each in leaves)]  # type: ignore[attr-defined]


_TESTS: Final[dict[str, Callable[..., None]]] = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd,
    "test_faketensor": _test_fake,
    "test_aot_dispatch_dynamic": _test_gradients,
}
