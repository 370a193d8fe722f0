"""Runs that leave a model as it was, whatever its forward changes in it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from gradviz._capture.training_loop.derivative_check import same_random_numbers


@contextmanager
def intact(lib: Any, modules: Sequence[Any]) -> Generator[None]:
    """Put back, at the end of the block, what a forward pass can change.

    That is the values of parameters and buffers that were written in place, attributes
    that were bound anew, and all random numbers. What a forward appends to a list, or
    does outside of the model, stays done.
    """
    attributes = [_attributes(each) for each in modules]
    tensors = list({id(each): each for each in _tensors(modules)}.values())
    with lib.no_grad():
        before = [(each, each.detach().clone()) for each in tensors]
    try:
        with same_random_numbers(lib):
            yield
    finally:
        for module, (plain, tables) in zip(modules, attributes, strict=True):
            own = vars(module)
            own.clear()
            own.update(plain)
            for name, table in tables.items():
                own[name].clear()
                own[name].update(table)
        # Versions do not tell: a batch norm writes its statistics without a new one.
        # Nor may there be a new one now: a graph of the program may hold the tensor.
        for tensor, value in before:
            if not lib.equal(tensor.data, value):
                tensor.data.copy_(value)


_TABLES = ("_parameters", "_buffers", "_modules")


def _attributes(module: Any) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    own = vars(module)
    return dict(own), {name: dict(own[name]) for name in _TABLES}


def _tensors(modules: Sequence[Any]) -> Generator[Any]:
    for module in modules:
        for table in (module._parameters, module._buffers):
            for each in table.values():
                if each is not None and each.device.type != "meta":  # it has no values
                    yield each


def copied(thing: Any, kind: type) -> Any:
    """Return an input with its tensors copied: a forward may write to them."""
    if isinstance(thing, kind):
        tensor: Any = thing
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)
    if isinstance(thing, dict):
        return type(thing)({key: copied(each, kind) for key, each in thing.items()})
    if type(thing) in (list, tuple):
        return type(thing)(copied(each, kind) for each in thing)
    return thing
