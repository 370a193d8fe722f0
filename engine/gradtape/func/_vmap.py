"""vmap: run a function once per example and stack what it returns."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator, Sequence
from typing import Any

from .._dispatch.declare import FUNCTIONS
from .._dispatch.strided_views import as_strided, geometry_of
from .._modes.transforms import active
from .._random.generator import default_generator
from .._random.vmap import Batch, vmaps
from .._tensor.tensor import Tensor
from ..utils._pytree import TreeSpec, broadcast_to_leaves, tree_flatten, tree_leaves
from ._arguments import transforming
from ._batch_rules import Examples
from ._vmap_checks import watching

InDims = int | tuple[Any, ...] | None
OutDims = int | tuple[Any, ...] | None


def vmap(
    func: Callable[..., Any],
    in_dims: InDims = 0,
    out_dims: OutDims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that maps ``func`` over one dimension of its inputs.

    ``in_dims`` says which dimension, None for an input that every example gets whole;
    ``out_dims`` where the examples go in the outputs. Both may be trees that match the
    inputs and outputs. ``randomness`` is "error", "different" or "same".

    The function runs once per example, in order, so derivatives and printing work
    inside; ``chunk_size`` is for how many of them different numbers are drawn at once,
    or a ``Function`` is asked for its rule.
    Raises ValueError where the dimensions do not fit, and RuntimeError for what PyTorch
    cannot map: a mapped tensor as a number or a truth, or written into one that is
    there once.

    >>> import gradtape as torch
    >>> a, b = torch.arange(6.0).reshape(3, 2), torch.ones(3, 2)
    >>> torch.vmap(torch.dot)(a, b)
    tensor([1., 5., 9.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. "
            f"Got {randomness}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(
            f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})"
        )

    @wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(func, out_dims)
        size, dims, leaves, spec = _batched_inputs(func, in_dims, args)
        call = functools.partial(func, **kwargs)
        chunk = chunk_size or size or 1
        examples = Examples(
            randomness, dims, leaves, lambda inputs: call(*spec.unflatten(inputs))
        )
        results = _run_each(examples, size, chunk)
        return _stacked(func, results, out_dims, examples if size else None)

    return wrapped


def wraps(func: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Give a wrapper the name and docstring of ``func``, as far as it has them."""
    return functools.wraps(func)


def name_of(func: Any) -> str:
    """Return what errors call a function."""
    if hasattr(func, "__name__"):
        return func.__name__
    if isinstance(func, functools.partial):
        return f"functools.partial({name_of(func.func)}, ...)"
    return repr(func)


# ---- inputs ----


def _batched_inputs(
    func: Any, in_dims: Any, args: tuple[Any, ...]
) -> tuple[int, list[int | None], list[Any], TreeSpec]:
    """Return the number of examples, and per leaf of ``args`` where they lie."""
    call = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"{call}expected `in_dims` to be int or a (potentially nested) tuple "
            f"matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add "
            "inputs, or you are trying to vmap over a function with no inputs. The "
            "latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = broadcast_to_leaves(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{call}in_dims is not compatible with the structure of `inputs`. in_dims "
            f"has structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    found = [_in_dim(call, *each) for each in zip(leaves, dims, strict=True)]
    return _batch_size(found, leaves), found, leaves, spec


def _in_dim(call: str, leaf: Any, dim: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{call}Got in_dim={dim} for an input but in_dim must be either an integer "
            "dimension or None."
        )
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{call}Got in_dim={dim} for an input but the input is of type "
            f"{type(leaf)}. We cannot vmap over non-Tensor arguments, please use None "
            "as the respective in_dim"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"{call}Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {leaf.dim()} so expected in_dim to satisfy "
            f"-{leaf.dim()} <= in_dim < {leaf.dim()}."
        )
    return dim % leaf.dim()


def _batch_size(dims: Sequence[int | None], leaves: Sequence[Any]) -> int:
    sizes = [
        leaf.size(d) for d, leaf in zip(dims, leaves, strict=True) if d is not None
    ]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped "
            f"dimension, got sizes {sizes} for the mapped dimension"
        )
    return sizes[0]


# ---- examples ----


def _run_each(examples: Examples, size: int, chunk: int) -> list[Any]:
    """Call the function with each example; with one of zeros where there is none."""
    given = list(zip(examples.wholes, examples.dims, strict=True))
    mapped = [at for at, (_, dim) in enumerate(given) if dim is not None]
    wholes = [(x, d) for x, d in given if d is not None]
    drawing = _drawing(examples.randomness, size, chunk, wholes)
    watch = watching(size, examples.randomness == "different")
    outer = active.more
    with drawing as start, transforming(), watch as begin:

        def make(index: int) -> list[Any]:
            start(index)
            active.more = outer or (index + 1 < size and (index + 1) % chunk != 0)
            example = [x if d is None else x.select(d, index) for x, d in given]
            begin(index, [example[at] for at in mapped])
            return example

        if size:
            firsts = range(0, size, chunk)
            parts = [range(first, min(first + chunk, size)) for first in firsts]
            return [result for part in parts for result in examples.run(part, make)]
        empty = [
            x if d is None else x.new_zeros(_without(x.shape, d)) for x, d in given
        ]
        begin(0, [empty[at] for at in mapped])
        return [examples.call(empty)]


def _without(shape: Sequence[int], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], *shape[dim + 1 :])


@contextlib.contextmanager
def _drawing(
    randomness: str, size: int, chunk: int, wholes: list[tuple[Any, int]]
) -> Generator[Callable[[int], Any]]:
    """Let examples draw random numbers as asked; yields what to call before each."""
    if randomness == "different" and size:
        batch = Batch(size, chunk, wholes)
        vmaps.batches = (*vmaps.batches, batch)
        try:
            yield batch.begin
        finally:
            vmaps.batches = vmaps.batches[:-1]
        return
    if randomness == "same":
        starts = {default_generator: default_generator.get_state()}
        vmaps.starts = (*vmaps.starts, starts)
        try:
            yield lambda _: [g.set_state(state) for g, state in starts.items()]
        finally:
            vmaps.starts = vmaps.starts[:-1]
        return
    refusing = randomness == "error"
    vmaps.refusing += refusing
    try:
        yield lambda _: None
    finally:
        vmaps.refusing -= refusing


# ---- outputs ----


def _check_out_dims(func: Any, out_dims: Any) -> None:
    for each in tree_leaves(out_dims):
        if each is not None and not isinstance(each, int):
            raise ValueError(
                f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be "
                "an int, None or a python collection of ints representing where in the "
                "outputs the vmapped dimension should appear."
            )


def _stacked(
    func: Any, results: Sequence[Any], out_dims: Any, examples: Examples | None
) -> Any:
    """Put the examples' outputs together; that of zeros where there are none."""
    flat, spec = tree_flatten(results[0])
    each = [tree_leaves(result) for result in results]
    dims = _out_dims(out_dims, results[0], spec)
    if dims is None:
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is "
            "not compatible with the structure of `outputs`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    found = [
        _joined(name_of(func), [leaves[place] for leaves in each], dim, examples)
        for place, (_, dim) in enumerate(zip(flat, dims, strict=True))
    ]
    return spec.unflatten(found)


def _out_dims(out_dims: Any, output: Any, spec: TreeSpec) -> list[Any] | None:
    if not isinstance(output, Tensor):
        return broadcast_to_leaves(out_dims, spec)
    if isinstance(out_dims, tuple) and len(out_dims) == 1:
        return list(out_dims)  # as PyTorch, for a function with a single output
    return [out_dims] if out_dims is None or isinstance(out_dims, int) else None


def _joined(
    name: str, outputs: list[Any], dim: int | None, examples: Examples | None
) -> Any:
    first = outputs[0]
    if dim is None:
        if isinstance(first, Tensor) and _differ(outputs):
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when "
                "out_dim is None"
            )
        return first
    if not isinstance(first, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type "
            f"{type(first)}. Did you mean to set out_dims= to None for output?"
        )
    at = 0
    if examples is None:
        whole = first.unsqueeze(0).narrow(0, 0, 0).clone()
    elif (given := examples.given(outputs)) is not None:
        whole, at = given
    elif (whole := _side_by_side(outputs)) is None:
        whole = FUNCTIONS["stack"](outputs)
    return whole if dim == at or dim == at - whole.dim() else whole.movedim(at, dim)


def _side_by_side(outputs: Sequence[Tensor]) -> Tensor | None:
    """Return outputs that lie evenly in one memory as a view of it, as PyTorch's are.

    None where they do not, or where derivatives need the history of each.
    """
    first = outputs[0]
    fresh = first._view is None and any(each is not first for each in outputs)
    if fresh or first.is_sparse:
        return None
    storage, at = first._storage, geometry_of(first)
    step = geometry_of(outputs[-1]).offset - at.offset
    step = step // (len(outputs) - 1) if len(outputs) > 1 else at.end - at.offset
    for place, each in enumerate(outputs):
        expected = at._replace(offset=at.offset + place * step)
        if each.requires_grad or each._storage is not storage or step < 0:
            return None
        if each.dtype is not first.dtype or geometry_of(each) != expected:
            return None
    return as_strided(first, (len(outputs), *at.size), (step, *at.stride))


def _differ(outputs: Sequence[Tensor]) -> bool:
    """Tell whether examples gave different tensors: one cannot stand for all."""
    first = outputs[0]
    return any(
        each is not first and not bool((each._data == first._data).all())
        for each in outputs
    )
