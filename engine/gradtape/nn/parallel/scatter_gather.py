"""Parts what a module takes among devices, and joins what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..._backend.device import device as Device
from ..._dispatch.declare import FUNCTIONS
from ..._tensor.tensor import Tensor

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: Any, target_gpus: Sequence[int | Device], dim: int = 0) -> Any:
    """Return one part of ``inputs`` per device: tensors in chunks, all else as it is.

    Lists, tuples and dicts are parted with what they hold.

    >>> import gradtape as torch
    >>> from gradtape.nn.parallel.scatter_gather import scatter
    >>> scatter({"x": torch.arange(4), "n": 2}, [torch.device("cpu")] * 2)
    [{'x': tensor([0, 1]), 'n': 2}, {'x': tensor([2, 3]), 'n': 2}]
    """
    if isinstance(inputs, Tensor):
        chunks = inputs.chunk(len(target_gpus), dim)
        places = target_gpus[: len(chunks)]
        return tuple(
            chunk.to(place) for chunk, place in zip(chunks, places, strict=True)
        )
    if not isinstance(inputs, tuple | list | Mapping) or not inputs:
        return [inputs for _ in target_gpus]
    held = list(inputs.values()) if isinstance(inputs, Mapping) else inputs
    parts = zip(*(scatter(each, target_gpus, dim) for each in held), strict=False)
    return [_like(inputs, part) for part in parts]


def scatter_kwargs(
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    target_gpus: Sequence[int | Device],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Part positional and named arguments; the shorter of both is filled up."""
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    most = max(len(positional), len(named))
    return (
        (*positional, *[()] * (most - len(positional))),
        (*named, *({} for _ in range(most - len(named)))),
    )


def gather(outputs: Any, target_device: int | str | Device, dim: int = 0) -> Any:
    """Join what each device returned on one device: the opposite of ``scatter``.

    Scalars become a vector. Raises ValueError for dicts of different sizes.
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        whole = [each if each.ndim else each.unsqueeze(0) for each in outputs]
        return FUNCTIONS["cat"]([each.to(target_device) for each in whole], dim)
    if first is None:
        return None
    if not isinstance(first, Mapping):
        parts = zip(*outputs, strict=True)
        return _like(first, [gather(part, target_device, dim) for part in parts])
    if any(len(each) != len(first) for each in outputs):
        raise ValueError("All dicts must have the same number of keys")
    parts = ([each[key] for each in outputs] for key in first)
    return _like(first, [gather(part, target_device, dim) for part in parts])


def _like(whole: Any, held: Sequence[Any]) -> Any:
    """Return a container like another one that holds these."""
    if isinstance(whole, Mapping):
        kind: Any = type(whole)
        return kind(zip(whole, held, strict=True))
    if hasattr(whole, "_fields"):
        return type(whole)(*held)
    return type(whole)(held)
