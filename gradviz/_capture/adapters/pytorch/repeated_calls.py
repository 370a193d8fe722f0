"""Passes over calls that a loop makes again and again, and that no gradient concerns.

Data is prepared, a policy plays, a metric is computed: in a step that is looked at in
brief, such a call is told the first few times. After that it only runs; while grad mode
is on, whether NaN or Inf came of it is looked at all the same. What writes, what leads
out of a graph, and what hands out memory that a call was told of is always told.
"""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

from gradviz._capture.adapters.pytorch.graph.tensor_table import DTYPE, NEEDS
from gradviz.program.noted import Glance

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.call_arguments import OpenCall
    from gradviz._capture.adapters.pytorch.context import TorchContext
    from gradviz._capture.adapters.pytorch.op_names import Op

ENOUGH = 8
"""So often a call is told before it is passed over."""

_MOST_PLACES = 10_000  # that are remembered

Place: TypeAlias = tuple[int, int, int, bool]
"""A code object, an instruction in it, the function that it calls, and grad mode."""


class RepeatedCalls:
    """Counts how often calls of one instruction were told."""

    def __init__(self, torch: Any, log: TorchContext) -> None:
        self._log = log
        self.counts: dict[Place, int] = {}
        """How often calls were told; below 0 if they always are to be."""
        self._compares = set[Place]()  # what depends on a graph, as a truth or a number
        self._ends: dict[tuple[int, int], int] = {}
        self._peek = torch._C._autograd._get_sequence_nr
        self._tensor = torch.Tensor

    def is_aside(
        self, place: Place, args: tuple[Any, ...], op: Op, caller: FrameType
    ) -> bool:
        """Tell whether a call that was told often enough leads out of no graph."""
        self._first = self._peek()
        if op.exports:
            return bool(args) and self._is_new(args[0], op, caller)
        if not place[3]:
            return True  # nor is one made
        if place not in self._compares:
            for each in args:
                if isinstance(each, self._tensor) and each.requires_grad:
                    return False
        return True

    def _is_new(self, tensor: Any, op: Op, caller: FrameType) -> bool:
        """Tell whether no call was told of memory that is handed out.

        The call that does so is told once another one may save what lies there.
        """
        log, place = self._log, self._log.here.now
        number = log.exports.if_new(tensor)
        if number:
            code, lasti, _ = log.found_from(caller, place)
            where = place.thread, place.module, place.within
            log.exports.untold[number] = op.name, code, lasti, where
        return number > 0

    def ran(self, place: Place, result: Any) -> None:
        """Look at the result of a call that was passed over."""
        log = self._log
        try:
            if self._peek() != self._first:
                self.counts[place] = -1  # there is a graph now, without this call
            if type(result) is self._tensor:
                log.nonfinite.of_untold(place, result)
            elif isinstance(result, (tuple, list)):
                for each in result:
                    if type(each) is self._tensor:
                        log.nonfinite.of_untold(place, each)
        except Exception as error:
            log.stop(error)

    def told(self, place: Place, open_call: OpenCall) -> None:
        """Count a call that was told in full."""
        count, noted = self.counts.get(place, 0), self._log.program.raw[-1]
        if count < 0:
            return
        if len(self.counts) > _MOST_PLACES:
            self._ends.clear()
            self.counts.clear()
            self._compares.clear()
        if type(noted) is not tuple or noted[0] != "call" or noted[4] or noted[5]:
            self.counts[place] = -1
            return
        if place[3] and any(glance[NEEDS] for _, glance in open_call[1]):
            if any(map(_is_float, noted[3])) or not noted[3]:
                self.counts[place] = -1  # the graph ends here
                return
            self._compares.add(place)
        self.counts[place] = count + 1

    def is_news(self, header: tuple[Any, ...]) -> bool:
        """Tell whether few graphs were read that end in a call of this instruction."""
        place = id(header[1]), header[2]
        count = self._ends[place] = self._ends.get(place, 0) + 1
        return count <= ENOUGH


def _is_float(glance: Glance) -> bool:
    return glance[DTYPE].startswith(("float", "bfloat", "complex"))
