"""The program's hooks on a graph, as far as they can be found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gradviz._capture.names.hooks import hooks_in
from gradviz._capture.names.tensors import grad_fn_of
from gradviz.stepping.graph import leaf_of


def hooks_behind(nodes: Iterable[Any], named: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of the hooks on leaves, and on tensors with a name.

    gradtape's nodes also tell of their own; PyTorch's do not.
    """
    nodes = dict.fromkeys(nodes)
    tensors = {id(leaf): leaf for node in nodes if (leaf := leaf_of(node)) is not None}
    tensors |= {id(each): each for each in named if grad_fn_of(each) in nodes}
    found = dict.fromkeys(
        hook.name
        for table in (*_of_tensors(tensors.values()), *_of_nodes(nodes))
        for hook in hooks_in(table)
    )
    return tuple(found)


def _of_tensors(tensors: Iterable[Any]) -> Iterator[Any]:
    for tensor in tensors:
        yield tensor._backward_hooks
        yield getattr(tensor, "_post_accumulate_grad_hooks", None)


def _of_nodes(nodes: Iterable[Any]) -> Iterator[Any]:
    for node in nodes:
        extra = getattr(node, "extra", None)
        if extra is not None and hasattr(extra, "tensor_hooks"):
            yield extra.pre_hooks
            yield extra.post_hooks
            yield from extra.tensor_hooks.values()
