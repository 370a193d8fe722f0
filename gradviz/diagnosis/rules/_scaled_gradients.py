"""Which gradients are still as large as a gradient scaler has made them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.diagnosis.rules import _leaves
from gradviz.program.events import Backward, Call, OptimizerCall, ScalerCall
from gradviz.program.history import History


@dataclass(frozen=True, slots=True)
class Scaled:
    """A step or a clipping that met gradients nobody had unscaled."""

    event: OptimizerCall | Call
    scale: ScalerCall

    @property
    def times(self) -> str:
        """Return "65,536 times"."""
        scale = self.scale.scale
        return "many times" if scale is None else f"{scale:,.0f} times"


@_leaves.once
def meetings(history: History) -> list[Scaled]:
    """Return the steps and clippings that met scaled gradients, in order."""
    return list(_meetings(history))


def _meetings(history: History) -> Iterator[Scaled]:
    scaling: dict[int, ScalerCall] = {}  # tensor -> which scale() returned it
    leaves: dict[int, ScalerCall] = {}  # whose gradients are scaled
    for event in history.events:
        if isinstance(event, ScalerCall):
            scaling.update((value.tensor, event) for value in event.scaled)
            _forget(leaves, history, event.optimizer)
        elif isinstance(event, Backward) and scaling and event.api == "backward":
            behind = {root.tensor for root in event.roots}
            behind |= history.behind(event.roots, event.index)
            for tensor in behind & scaling.keys():
                leaves.update(dict.fromkeys(event.leaves, scaling[tensor]))
                break
        elif isinstance(event, OptimizerCall) and leaves:
            mine = [each.tensor for each in event.states if each.has_grad]
            met = [leaves[key] for key in mine if key in leaves]
            if met and event.what == "step":
                yield Scaled(event, met[0])
            for key in mine:
                leaves.pop(key, None)
        elif isinstance(event, Call) and leaves and event.op.startswith("clip_grad"):
            met = [leaves[v.tensor] for v in event.inputs if v.tensor in leaves]
            if met:
                yield Scaled(event, met[0])


def _forget(
    leaves: dict[int, ScalerCall], history: History, optimizer: int | None
) -> None:
    """Take out the parameters of an optimizer whose gradients a scaler unscales."""
    row = history.program.optimizers.get(optimizer or 0)
    for tensor in row.tensors if row is not None else ():
        leaves.pop(tensor, None)
