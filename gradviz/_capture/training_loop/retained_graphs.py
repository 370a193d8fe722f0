"""Graphs nobody needs: tensors that still hold one when a run ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradviz._capture.names.tensors import grad_fn_of
from gradviz._capture.training_loop.names import NamePart
from gradviz._capture.training_loop.patches import Part
from gradviz.program.events import Backward, Call
from gradviz.program.records import LiveRoot

_FIRST = 4  # passes, after which it is seen what is alive
_MOST_ROOTS = 1_000
_MOST_NODES = 200_000  # walked in one census


class CensusPart(Part):
    """Finds living tensors whose graph no backward pass ever walked."""

    subject = "Living graphs"
    names: NamePart

    def install(self) -> None:
        self.on = True
        self._passes = 0

    def passed(self) -> None:
        """Learn that a pass is over: see what is alive after 4, 8, 16, ... of them."""
        self._passes = count = self._passes + 1
        if count >= _FIRST and not count & (count - 1):
            living = frozenset(number for number, _ in self.log.tensors.alive())
            self.log.program.together = (living,)

    def take(self) -> None:
        """Write the table of living graphs, newest first; it replaces the last one."""
        program = self.log.program
        self.log.pause()
        try:
            self._left = _MOST_NODES
            living = {number for number, _ in self.log.tensors.alive()}
            for number, facts in program.tensors.items():
                facts.alive = number in living
            program.together = *program.together[:1], frozenset(living)
            tensors = self._unwalked()
            holders = self.names.holders() if tensors else {}
            made = self._made()
            program.live = [
                self._row(tensor, nodes, holders.get(id(tensor), ()), made)
                for tensor, nodes in self._roots(tensors)
            ]
        finally:
            self.log.resume()

    def _unwalked(self) -> list[Any]:
        """Return living tensors with a graph that no pass has begun at or come by."""
        walked: set[int] = set()
        blind = -1  # nodes made before this event may have been walked
        for event in self.log.program.events:
            if isinstance(event, Backward):
                walked.update(event.nodes)
                walked.update(v.node for v in event.roots if v.node is not None)
                if not event.nodes and event.node_count:
                    blind = event.index
        found: list[tuple[int, Any]] = []
        for number, tensor in self.log.tensors.alive():
            if not isinstance(tensor, self.lib.Tensor) or grad_fn_of(tensor) is None:
                continue
            key = self.log.value(tensor).node
            if key in walked or (blind >= 0 and self._call_of(number) < blind):
                continue
            found.append((number, tensor))
        return [tensor for _, tensor in sorted(found, reverse=True)][:_MOST_ROOTS]

    def _call_of(self, tensor: int) -> int:
        call = self._made().get(tensor)
        return -1 if call is None else call.index

    def _made(self) -> dict[int, Call]:
        """Map tensors to the last call that returned them."""
        events = self.log.program.events
        return {
            value.tensor: event
            for event in events
            if isinstance(event, Call)
            for value in event.outputs
        }

    def _roots(self, tensors: Iterable[Any]) -> list[tuple[Any, list[Any]]]:
        """Leave out tensors that are part of another one's graph; add the nodes."""
        found: list[tuple[Any, list[Any]]] = []
        inside: set[Any] = set()
        ends: set[Any] = set()
        for tensor in tensors:  # newest first: what was made of it comes before
            root = grad_fn_of(tensor)
            if root in inside and root not in ends:
                continue
            nodes = self._graph(root)
            inside.update(nodes)
            ends.add(root)
            found.append((tensor, nodes))
        return found

    def _graph(self, root: Any) -> list[Any]:
        seen: dict[Any, None] = {}
        waiting = [root]
        while waiting and self._left:
            node = waiting.pop()
            if node in seen:
                continue
            self._left -= 1
            seen[node] = None
            waiting += [each for each, _ in node.next_functions if each is not None]
        return list(seen)

    def _row(
        self,
        tensor: Any,
        nodes: list[Any],
        holders: tuple[str, ...],
        made: dict[int, Call],
    ) -> LiveRoot:
        value = self.log.value(tensor)
        call = made.get(value.tensor)
        return LiveRoot(
            value,
            None if call is None else call.index,
            None if call is None else call.site,
            len(nodes),
            _saved_bytes(nodes),
            holders,
        )


def _saved_bytes(nodes: Iterable[Any]) -> int:
    """Return the size of the memory that the nodes' saved tensors lie in."""
    sizes: dict[int, int] = {}
    for node in nodes:
        for name in dir(node):
            if not name.startswith("_raw_saved_"):
                continue
            try:
                raw = getattr(node, name)
            except Exception:
                continue  # freed
            for each in raw if isinstance(raw, list | tuple) else (raw,):
                data = getattr(each, "data", None)
                if data is not None and hasattr(data, "untyped_storage"):
                    storage = data.untyped_storage()
                    sizes[storage._cdata] = storage.nbytes()
    return sum(sizes.values())
