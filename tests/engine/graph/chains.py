"""Random chains of views and writes, played on either engine and told step by step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from ..oracle import first_sentence

Step = tuple[str, int, tuple[Any, ...]]
"""What to do, to which of the tensors so far (counted round), with which arguments."""

dims = st.integers(-3, 3)
lengths = st.integers(-1, 4)
bounds = st.none() | st.integers(-4, 5)
slices = st.builds(slice, bounds, bounds, st.none() | st.integers(1, 3))
items = st.one_of(st.integers(-3, 3), slices, st.none(), st.just(Ellipsis))
indices = st.one_of(items, st.lists(items, max_size=4).map(tuple)).filter(
    lambda index: not isinstance(index, tuple) or index.count(Ellipsis) < 2
)
sizes = st.lists(lengths, max_size=4).map(tuple)


def _args(*parts: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*parts)


VIEWS: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "getitem": _args(indices),
    "view": _args(sizes),
    "reshape": _args(sizes),
    "flatten": _args(dims, dims),
    "transpose": _args(dims, dims),
    "t": _args(),
    "permute": _args(st.permutations([0, 1, 2]).map(tuple)),
    "movedim": _args(dims, dims),
    "unsqueeze": _args(dims),
    "squeeze": st.one_of(_args(), _args(dims)),
    "expand": _args(st.lists(st.integers(0, 4), max_size=4).map(tuple)),
    "select": _args(dims, st.integers(-3, 3)),
    "narrow": _args(dims, st.integers(-2, 3), st.integers(0, 3)),
    "diagonal": _args(st.integers(-2, 2), dims, dims),
    "unfold": st.builds(  # windows that overlap would be written twice
        lambda dim, window: (dim, *window),
        dims,
        st.sampled_from([(0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3)]),
    ),
    "split": _args(st.integers(1, 3), dims),
    "chunk": _args(st.integers(1, 3), dims),
    "unbind": _args(dims),
    "detach": _args(),
    "contiguous": _args(),
    "clone": _args(),
    "as_strided": _args(
        st.lists(st.integers(0, 2), min_size=2, max_size=2).map(tuple),
        st.sampled_from([(2, 1), (1, 2), (3, 1)]),
    ),
}

WRITES: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "mul_": _args(st.integers(2, 3)),
    "add_": _args(st.integers(1, 3)),
    "fill_": _args(st.integers(-2, 2)),
    "zero_": _args(),
    "setitem": _args(indices, st.integers(-3, 3)),
    "copy_from": _args(st.integers(0, 7)),
    "no_grad_mul_": _args(st.integers(2, 3)),
}


def _steps(table: dict[str, Any]) -> st.SearchStrategy[Step]:
    return st.one_of(
        [
            st.tuples(st.just(name), st.integers(0, 7), arguments)
            for name, arguments in table.items()
        ]
    )


chains = st.lists(
    st.one_of(_steps(VIEWS), _steps(VIEWS), _steps(WRITES)), min_size=1, max_size=8
)
starts = st.lists(st.integers(0, 4), min_size=0, max_size=3).map(tuple)


def play(t: Any, shape: tuple[int, ...], steps: list[Step]) -> list[Any]:
    """Return what a chain did with one engine: a line per step, then the gradients."""
    count = 1
    for length in shape:
        count *= length
    leaf = t.arange(1.0, count + 1, dtype=t.float64).reshape(shape).clone()
    leaf.requires_grad_()
    tensors = [leaf, leaf * 1]
    told: list[Any] = []
    for name, which, arguments in steps:
        target = tensors[which % len(tensors)]
        try:
            found = ACTIONS.get(name, _method(name))(t, tensors, target, *arguments)
        except Exception as error:
            told.append((name, type(error).__name__, first_sentence(error)))
            continue
        made = list(found) if isinstance(found, tuple | list) else [found]
        tensors += made
        told.append((name, [tell(tensor) for tensor in made]))
    told += [tell(tensor) for tensor in tensors]
    return [*told, *_gradients(t, leaf, tensors)]


def _method(name: str) -> Callable[..., Any]:
    return lambda _t, _tensors, target, *arguments: getattr(target, name)(*arguments)


def _setitem(_t: Any, _tensors: Any, target: Any, index: Any, value: Any) -> Any:
    target[index] = value
    return target


def _copy_from(_t: Any, tensors: Any, target: Any, which: int) -> Any:
    return target.copy_(tensors[which % len(tensors)])


def _no_grad_mul(t: Any, _tensors: Any, target: Any, value: Any) -> Any:
    with t.no_grad():
        return target.mul_(value)


ACTIONS: dict[str, Callable[..., Any]] = {
    "getitem": lambda _t, _tensors, target, index: target[index],
    "setitem": _setitem,
    "copy_from": _copy_from,
    "no_grad_mul_": _no_grad_mul,
}


def tell(tensor: Any) -> tuple[Any, ...]:
    """Return all that can be seen of a tensor."""
    try:
        node = tensor.grad_fn
    except RuntimeError as error:  # a view whose base was written behind its back
        return (tuple(tensor.shape), tensor._version, first_sentence(error))
    return (
        tuple(tensor.shape),
        tensor.stride() if tensor.numel() else (),  # nobody walks along these
        tensor.storage_offset() if tensor.numel() else 0,
        tensor._version,
        tensor.is_leaf,
        tensor.requires_grad,
        tensor._base is not None,
        "" if node is None else type(node).__name__,
        tensor.tolist(),
    )


def _gradients(t: Any, leaf: Any, tensors: list[Any]) -> list[Any]:
    """Send a gradient back from every tensor, first order and second."""
    found: list[Any] = []
    for tensor in tensors:
        if not tensor.requires_grad or tensor is leaf:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                (grad,) = t.autograd.grad(
                    (tensor * tensor).sum(),
                    leaf,
                    retain_graph=True,
                    create_graph=True,
                    allow_unused=True,
                )
                found.append(None if grad is None else grad.tolist())
            except RuntimeError as error:
                found.append(first_sentence(error))
    return found
