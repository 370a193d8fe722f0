"""Whole Jacobians and Hessians: jacrev, jacfwd and hessian."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._tensor.tensor import Tensor
from ..utils._pytree import TreeSpec, tree_flatten, tree_leaves
from ._arguments import ArgNums, chosen, refuse_complex
from ._forward import jvp_of
from ._reverse import vjp_of
from ._vmap import vmap, wraps


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
