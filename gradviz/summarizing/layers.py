"""The tree of layers: each module and each parameter counted once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Layer:
    """One module at its place in the model, with all below it.

    Sizes and operations are those of all its calls together. What belongs to another
    place (a module that is there twice, a weight that two share) counts where it comes
    first.
    """

    path: str  # "encoder.0"; "" of the model itself
    kind: str  # "Linear"
    depth: int
    outputs: tuple[tuple[int, ...], ...] = ()  # shapes of what its last call returned
    parameters: int = 0  # elements
    trainable: int = 0
    kept_bytes: int | None = None  # of activations, held for the backward pass
    flops: int | None = None
    elapsed_ns: int | None = None
    calls: int = 0
    note: str = ""  # "2 calls", "never called", "is encoder"

    @property
    def frozen(self) -> int:
        """How many elements of its parameters require no gradient."""
        return self.parameters - self.trainable


@dataclass(slots=True)
class Costs:
    """What the calls of one module cost together."""

    calls: int = 0
    outputs: tuple[tuple[int, ...], ...] = ()
    kept_bytes: int = 0
    flops: int | None = 0
    elapsed_ns: int = 0


@dataclass(slots=True)
class _Tree:
    """Walks a model, and remembers what it has counted."""

    costs: Mapping[int, Costs]  # by id of a module
    used: set[int]  # ids of parameters that an operation took
    layers: list[Layer] = field(default_factory=list[Layer])
    modules: dict[int, str] = field(default_factory=dict[int, str])  # first paths
    parameters: dict[int, str] = field(default_factory=dict[int, str])

    def add(self, module: Any, path: str, depth: int) -> Layer:
        kind = type(module).__name__
        first = self.modules.setdefault(id(module), path)
        place = len(self.layers)
        if first != path:
            twin = Layer(path, kind, depth, note=f"is {first or 'the model'}")
            self.layers.append(twin)
            return twin
        self.layers.append(Layer(path, kind, depth))  # its place, before its children
        own, shared = self._own(module, path)
        children = [
            self.add(child, f"{path}.{name}" if path else name, depth + 1)
            for name, child in module._modules.items()
            if child is not None
        ]
        layer = self._layer(module, path, kind, depth, own, shared, children)
        self.layers[place] = layer
        return layer

    def _own(self, module: Any, path: str) -> tuple[list[Any], list[str]]:
        """Return the parameters that count here, and the names of those shared."""
        own: list[Any] = []
        shared: list[str] = []
        for name, each in module._parameters.items():
            if each is None:
                continue
            whole = f"{path}.{name}" if path else name
            first = self.parameters.setdefault(id(each), whole)
            if first == whole:
                own.append(each)
            else:
                shared.append(f"{name} is {first}")
        return own, shared

    def _layer(
        self,
        module: Any,
        path: str,
        kind: str,
        depth: int,
        own: list[Any],
        shared: list[str],
        children: list[Layer],
    ) -> Layer:
        costs = self.costs.get(id(module), Costs())
        inside = [each for each in children if each.calls or each.kept_bytes]
        if not costs.calls and inside:  # a list of layers has no forward of its own
            counts = [each.flops for each in inside]
            costs = Costs(
                0,
                (),
                sum(each.kept_bytes or 0 for each in inside),
                None if None in counts else sum(each or 0 for each in counts),
                sum(each.elapsed_ns or 0 for each in inside),
            )
        ran = bool(costs.calls or inside)
        return Layer(
            path,
            kind,
            depth,
            costs.outputs,
            sum(each.numel() for each in own) + sum(c.parameters for c in children),
            sum(each.numel() for each in own if each.requires_grad)
            + sum(c.trainable for c in children),
            costs.kept_bytes if ran else None,
            costs.flops if ran else None,
            costs.elapsed_ns if ran else None,
            costs.calls,
            ", ".join([*self._calls(costs.calls, ran, own, children), *shared]),
        )

    def _calls(
        self, calls: int, ran: bool, own: list[Any], children: list[Layer]
    ) -> list[str]:
        if calls > 1:
            return [f"{calls:,} calls"]
        if ran or (children and not own):  # what is inside says so itself
            return []
        if any(id(each) in self.used for each in own):
            return ["not called, its parameters are used"]
        return ["never called"]


def layers_of(
    model: Any, costs: Mapping[int, Costs], used: set[int]
) -> tuple[Layer, ...]:
    """Return the tree of a model, each layer before those inside it.

    ``costs`` are those of the modules that ran, by id; ``used`` are the ids of the
    parameters that an operation took.
    """
    tree = _Tree(costs, used)
    tree.add(model, "", 0)
    return tuple(tree.layers)
