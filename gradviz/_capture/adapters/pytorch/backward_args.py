"""What a backward pass of PyTorch was called with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from gradviz.program.noted import Glance


class BackwardArguments(NamedTuple):
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
    ) -> BackwardArguments:
        """Sort out the arguments of a call."""
        outputs, gradients, inputs, retain, create = _ARGUMENTS[api](*args, **kwargs)
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
            tuple(map(glance, self.roots)),
            tuple(map(glance, self.inputs)),
            tuple([glance(g) if isinstance(g, cls) else None for g in self.gradients]),
        )


def _backward(
    tensors: Any = None,
    grad_tensors: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    grad_variables: Any = None,
    inputs: Any = None,
    *_: Any,
    **__: Any,
) -> tuple[Any, ...]:
    return tensors, grad_tensors, inputs, retain_graph, create_graph


def _grad(
    outputs: Any = None,
    inputs: Any = None,
    grad_outputs: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    *_: Any,
    **__: Any,
) -> tuple[Any, ...]:
    return outputs, grad_outputs, inputs, retain_graph, create_graph


_ARGUMENTS = {"backward": _backward, "grad": _grad}
"""They give tensors, gradients, inputs, retain_graph and create_graph of a call."""


def listed(
    tensor: type, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with iterators, such as ``parameters()``, as lists.

    They can be read once, and PyTorch makes tuples of them itself.
    """
    for each in (*args, *kwargs.values()):
        if each is not None and type(each) not in (tensor, bool):
            break
    else:
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
