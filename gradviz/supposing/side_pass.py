"""The pass that runs in a side buffer: its graph, and the names of the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from gradviz._capture.names.tensors import tensors_in_frame
from gradviz._capture.names.user_code import probing
from gradviz._capture.training_loop.derivative_check import same_random_numbers
from gradviz.errors import CaptureError
from gradviz.stepping.graph import Graph, engine_of, leaf_of
from gradviz.supposing import bypass
from gradviz.supposing.hooks import hooks_behind
from gradviz.supposing.walk import Bridge, Output, Place, Plan, Walk

NO_PATH = "no gradient of this loss reaches that tensor"


class SidePass:
    """The graph behind a loss, with the names of the program, and the pass as it is."""

    def __init__(
        self,
        loss: Any,
        gradient: Any,
        frame: Any,
        leaves: Mapping[Any, str] | None = None,
    ) -> None:
        self.library = engine_of(loss)
        self._graph = Graph(loss, frame)
        self._leaves = leaves or {}  # names of AccumulateGrads, where they are known
        self._named = tensors_in_frame(frame, self.library.Tensor)
        self.root: Place = (self._graph.root, loss.output_nr)
        if gradient is None:
            if loss.numel() != 1:
                raise CaptureError(
                    "the tensor has more than one element: give `gradient`, as to "
                    "backward()"
                )
            gradient = self.library.ones_like(loss)
        self._gradient = gradient.detach()

    @cached_property
    def did(self) -> dict[Any, Any]:
        """What reaches each AccumulateGrad in the pass as it is."""
        return self.run(Plan())

    @cached_property
    def hooks(self) -> tuple[str, ...]:
        return hooks_behind(self._graph.nodes, [tensor for _, tensor in self._named])

    def run(self, plan: Plan) -> dict[Any, Any]:
        with probing(), same_random_numbers(self.library):
            return Walk(self.library, plan).run(self.root, self._gradient.clone())

    def place(self, at: Any) -> Place:
        """Return the output of a node that a tensor is, or the input that was given."""
        if isinstance(at, tuple):
            node, number = at
            if node not in self._graph.nodes:
                raise ValueError("this loss does not reach that node")
            if not 0 <= number < len(node.next_functions):
                raise IndexError(f"{node.name()} has no input {number}")
            return node, number
        place = self.made(at)
        if place is None or place[0] not in self._graph.nodes:
            raise ValueError(NO_PATH)
        return place

    def made(self, tensor: Any) -> Place | None:
        """Return where the gradient of a tensor arrives; None if it has no graph."""
        if isinstance(tensor, Output):
            return tensor.node, tensor.number
        if not isinstance(tensor, self.library.Tensor):
            raise ValueError(f"expected a tensor or (node, number), got {tensor!r:.60}")
        if not tensor.requires_grad:
            return None
        edge = self.library.autograd.graph.get_gradient_edge(tensor)
        return edge.node, edge.output_nr

    def bridges(self, gate: Any, source: Any) -> list[tuple[Any, Bridge]]:
        into = self.made(source)
        if into is None:
            raise ValueError("the source has no graph that a gradient could go on in")
        if tuple(gate.shape) != tuple(source.shape):
            raise ValueError(
                f"a gradient of shape {tuple(gate.shape)} does not fit the source, of "
                f"shape {tuple(source.shape)}"
            )
        if gate.grad_fn is not None:
            raise ValueError("it has a backward function itself: uncut(z)")
        if gate.requires_grad:
            return [(self.place(gate)[0], bypass.from_leaf(into))]
        nodes = self._graph.nodes
        with probing():
            return list(
                bypass.from_users(self.library, self.root[0], nodes, gate, into)
            )

    def layout(self, at: Any) -> tuple[tuple[int, ...], Any, Any]:
        """Return shape, dtype and device of the gradient at a place."""
        node, number = self.place(at)
        if isinstance(at, tuple):
            node, number = node.next_functions[number]
            if node is None:
                raise ValueError("no gradient goes along that input")
        metadata = node._input_metadata[number]
        return tuple(metadata.shape), metadata.dtype, metadata.device

    def name(self, at: Any) -> str:
        """Return the name of a tensor in the program, else that of its node."""
        if isinstance(at, tuple):
            return f"input {at[1]} of {at[0].name()}"
        if isinstance(at, Output):
            return at.node.name()
        known = [name for name, tensor in self._named if tensor is at]
        if known:
            return known[0]
        made = at.grad_fn
        return "a tensor" if made is None else f"the result of {made.name()}"

    def words(self, at: Any) -> str:
        return f"gradient of {self.name(at)}"

    def leaf(self, node: Any) -> str:
        """Return the name of the leaf of an AccumulateGrad."""
        variable = leaf_of(node)
        known = [name for name, tensor in self._named if tensor is variable]
        return self._leaves.get(node) or (
            known[0] if known else f"a leaf {tuple(variable.shape)}"
        )

    def sorted(self, found: Iterable[Any]) -> list[Any]:
        """Return AccumulateGrads in the order of the program's names, then as found."""
        turns = {id(tensor): turn for turn, (_, tensor) in enumerate(self._named)}
        last = len(turns)
        return sorted(found, key=lambda node: turns.get(id(leaf_of(node)), last))
