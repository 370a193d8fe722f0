"""Whole Jacobians and Hessians: jacrev, jacfwd and hessian."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from .._dispatch.declare import FUNCTIONS, tensor_ops
from .._forward_mode import dual as _dual
from .._tensor.tensor import Tensor
from ..autograd import forward_ad
from ..utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_map
from ._arguments import (
    ArgNums,
    check_listed,
    check_outputs,
    chosen,
    refuse_complex,
    replaced,
    transforming,
    with_aux,
)
from ._captures import guarding
from ._reverse import vjp_of
from ._vmap import vmap, wraps

# ---- jvp: a function's value and directional derivative, in forward mode -----

_API = "jvp(f, primals, tangents)"


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Return the output of a function and its Jacobian applied to ``tangents``.

    ``primals`` and ``tangents`` are tuples of the same tree. With ``has_aux`` the
    function returns ``(output, aux)`` and a third value comes back, ``aux``. An output
    that does not depend on the primals has a tangent of zeros, or raises RuntimeError
    with ``strict``.

    >>> import gradtape as torch
    >>> x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0])
    >>> torch.func.jvp(torch.square, (x,), (v,))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    return jvp_of(func, primals, tangents, None, strict=strict, has_aux=has_aux)


def jvp_of(
    func: Callable[..., Any],
    args: Any,
    tangents: Any,
    argnums: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """As :func:`jvp`, with respect to the arguments at ``argnums`` (None: all)."""
    if not isinstance(args, tuple):
        raise RuntimeError(
            f"{_API}: Expected primals to be a tuple. E.g. it should be valid to call "
            "f(*primals)."
        )
    primals = args if argnums is None else chosen(args, argnums)
    flat_primals, spec = tree_flatten(primals)
    flat_tangents, tangent_spec = tree_flatten(tangents)
    if spec != tangent_spec:
        raise RuntimeError(
            f"{_API}: Expected primals and tangents to have the same python structure. "
            "For example, if primals is a tuple of 3 tensors, tangents also must be. "
            f"Got primals with structure {spec} and tangents with structure "
            f"{tangent_spec}"
        )
    check_listed(flat_primals, _API, "primals")
    check_listed(flat_tangents, _API, "tangents")
    with _level() as level:
        duals = spec.unflatten(
            [
                forward_ad.make_dual(primal, tangent)
                for primal, tangent in zip(flat_primals, flat_tangents, strict=True)
            ]
        )
        with guarding(func, args):
            found = func(*replaced(args, argnums, duals))
        output, aux = with_aux(_API, found, has_aux)
        flat, output_spec = tree_flatten(output)
        check_outputs(flat, _API)
        pairs = [_unpacked(level, each, strict) for each in flat]
        result = output_spec.unflatten([primal for primal, _ in pairs])
        pushed = output_spec.unflatten([tangent for _, tangent in pairs])
        if has_aux:
            return result, pushed, tree_map(lambda t: _plain(level, t), aux)
        return result, pushed


@contextlib.contextmanager
def _level() -> Generator[_dual.Level]:
    """Enter a level inside any others, and make it the one ``forward_ad`` means."""
    enabled, number = _dual.is_enabled(), forward_ad._current_level
    _dual.enable(True)
    level = _dual.enter()
    forward_ad._current_level = max(number, 0)
    try:
        with transforming():
            yield level
    finally:
        forward_ad._current_level = number
        _dual.leave(level)
        _dual.enable(enabled)


def _unpacked(
    level: _dual.Level, output: Tensor, strict: bool
) -> tuple[Tensor, Tensor]:
    primal, tangent = forward_ad.unpack_dual_at(level, output)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is "
                "independent of the inputs. This is not allowed with strict=True."
            )
        tangent = tensor_ops.zeros_like(primal)
    return primal, tangent


def _plain(level: _dual.Level, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
    return forward_ad.unpack_dual_at(level, value).primal


# ---- whole Jacobians and Hessians: jacrev, jacfwd and hessian ----------------


def jacrev(
    func: Callable[..., Any],
    argnums: ArgNums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes a Jacobian row by row, in reverse mode.

    For an output of shape S and an input of shape T it is of shape ``S + T``; a tree of
    outputs gives that tree, a tuple of ``argnums`` a tuple in each place. Raises
    RuntimeError for complex tensors.

    >>> import gradtape as torch
    >>> torch.func.jacrev(torch.square)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def wrapper(*args: Any) -> Any:
        refuse_complex("jacrev", tree_leaves(args), "input")
        output, pull, *aux = vjp_of(func, args, argnums, has_aux)
        outputs, output_spec = tree_flatten(output)
        refuse_complex("jacrev", outputs, "output")
        primals, spec = tree_flatten(chosen(args, argnums))
        rows = [
            tree_leaves(pull(output_spec.unflatten(basis)))
            for basis in _standard_basis(outputs)
        ]
        whole = [
            _stack_rows([row[i] for row in rows], primal)
            for i, primal in enumerate(primals)
        ]
        blocks = [_split(each, outputs, primal) for each, primal in zip(whole, primals)]  # noqa: B905
        jacobian = _arranged(list(zip(*blocks, strict=True)), spec, output_spec)
        return (jacobian, aux[0]) if has_aux else jacobian

    return wrapper


def jacfwd(
    func: Callable[..., Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Return a function that computes a Jacobian column by column, in forward mode.

    Shapes are as :func:`jacrev`'s; cheaper where there are fewer inputs than outputs.

    >>> import gradtape as torch
    >>> torch.func.jacfwd(torch.square)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @wraps(func)
    def wrapper(*args: Any) -> Any:
        refuse_complex("jacfwd", tree_leaves(args), "input")
        primals, spec = tree_flatten(chosen(args, argnums))
        bases = list(_standard_basis(primals))
        stacked = [FUNCTIONS["stack"](each) for each in zip(*bases, strict=True)]
        kept: list[Any] = []

        def push(direction: Any) -> Any:
            output, tangent, *aux = jvp_of(
                func, args, direction, argnums, has_aux=has_aux
            )
            refuse_complex("jacfwd", tree_leaves(output), "output")
            kept[:] = kept or [aux]
            return tangent

        columns = vmap(push, randomness=randomness)(spec.unflatten(stacked))
        outputs, output_spec = tree_flatten(columns)
        sizes = [primal.numel() for primal in primals]
        rows = [
            [
                part.reshape((*column.shape[1:], *primal.shape))
                for part, primal in zip(  # noqa: B905 - as many as sizes
                    column.movedim(0, -1).split(sizes, -1), primals
                )
            ]
            for column in outputs
        ]
        jacobian = _arranged(rows, spec, output_spec)
        return (jacobian, kept[0][0]) if has_aux else jacobian

    return wrapper


def hessian(func: Callable[..., Any], argnums: ArgNums = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian: forward mode over reverse mode.

    >>> import gradtape as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _standard_basis(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Yield one-hot trees: each element of each tensor in turn is 1."""
    for place, tensor in enumerate(tensors):
        for element in range(tensor.numel()):
            basis = [each.new_zeros(each.shape) for each in tensors]
            basis[place]._data.reshape(-1)[element] = 1
            yield basis


def _stack_rows(rows: Sequence[Tensor], primal: Tensor) -> Tensor:
    if not rows:
        return primal.new_zeros((0, *primal.shape))
    return FUNCTIONS["stack"](list(rows))


def _split(whole: Tensor, outputs: Sequence[Tensor], primal: Tensor) -> list[Tensor]:
    """Cut rows into one block per output, of the output's shape and the primal's."""
    parts = whole.split([output.numel() for output in outputs], 0)
    return [
        part.view((*output.shape, *primal.shape))
        for part, output in zip(parts, outputs, strict=True)
    ]


def _arranged(
    rows: Sequence[Sequence[Tensor]], spec: TreeSpec, output_spec: TreeSpec
) -> Any:
    """Put blocks, a row per output, into the tree of outputs of trees of inputs."""
    return output_spec.unflatten([spec.unflatten(row) for row in rows])
