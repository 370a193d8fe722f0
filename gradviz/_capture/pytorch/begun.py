"""What a backward pass of PyTorch was called with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from gradviz.program.noted import Glance


class Begun(NamedTuple):
    """What a pass was called with."""

    api: Literal["backward", "grad"]
    roots: list[Any]
    gradients: list[Any]
    inputs: list[Any]
    retain: bool
    create: bool

    @classmethod
    def of(
        cls,
        tensor: type,
        api: Literal["backward", "grad"],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Begun:
        """Sort out the arguments of a call."""
        outputs, gradients, inputs, retain, create = _arguments(api, args, kwargs)
        return cls(
            api,
            [outputs] if type(outputs) is tensor else _as_tensors(tensor, outputs),
            [] if gradients is None else _as_list(tensor, gradients),
            [] if inputs is None else _as_tensors(tensor, inputs),
            bool(create if retain is None else retain),
            bool(create),
        )

    def ends(
        self, cls: type, glance: Callable[[Any], Glance]
    ) -> tuple[tuple[Glance | None, ...], ...]:
        """Describe roots, inputs and gradients as they are now."""
        return (
            tuple([glance(each) for each in self.roots]),
            tuple([glance(each) for each in self.inputs]),
            tuple([glance(g) if isinstance(g, cls) else None for g in self.gradients]),
        )


_ARGUMENTS = {
    "backward": (
        *("tensors", "grad_tensors", "retain_graph", "create_graph"),
        *("grad_variables", "inputs"),
    ),
    "grad": ("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph"),
}
_PLACES = {
    api: {name: place for place, name in enumerate(names)}
    for api, names in _ARGUMENTS.items()
}
_ORDER = {"backward": (0, 1, 5, 2, 3), "grad": (0, 2, 1, 3, 4)}


def _arguments(api: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return tensors, gradients, inputs, retain_graph and create_graph of a call."""
    given: list[Any] = [*args, *[None] * (6 - len(args))]
    for name, each in kwargs.items():
        place = _PLACES[api].get(name)
        if place is not None:
            given[place] = each
    return [given[place] for place in _ORDER[api]]


def listed(
    tensor: type, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with iterators, such as ``parameters()``, as lists.

    They can be read once, and PyTorch makes tuples of them itself.
    """
    kinds = {*map(type, args), *map(type, kwargs.values())}
    if kinds <= {tensor, type(None), bool}:
        return args, kwargs
    lists = {key: _read(each) for key, each in kwargs.items()}
    return tuple([_read(each) for each in args]), lists


def _read(given: Any) -> Any:
    return list(given) if isinstance(given, Iterator) else given


def _as_list(tensor: type, given: Any) -> list[Any]:
    if given is None:
        return []
    if isinstance(given, Mapping):
        return list(given.values())
    several = isinstance(given, Iterable) and not isinstance(given, tensor)
    return list(given) if several else [given]


def _as_tensors(tensor: type, given: Any) -> list[Any]:
    return [each for each in _as_list(tensor, given) if isinstance(each, tensor)]
