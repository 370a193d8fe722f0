"""Trainable tensors that a module holds without knowing: in a list, dict or object."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.rules._gradients import unstepped
from gradviz.program import History, Module

OF = " of "  # a list of objects


def untrained(history: History) -> Iterator[tuple[Module, str, str, set[int]]]:
    """Yield modules, an attribute, its kind, and what in it nobody updates."""
    for module in history.program.modules.values():
        for attribute, container, tensors in module.hidden:
            lost = unstepped(history).intersection(tensors)
            if OF in container:
                lost = {each for each in lost if _is_part(history, module, each)}
            if lost:
                yield module, attribute, container, lost


def _is_part(history: History, module: Module, tensor: int) -> bool:
    """Tell whether the layer of a parameter was made with a module, and trains."""
    layer = learning.module_of(history, tensor)
    around = (module.site, *module.stack)
    made_in = () if layer is None else layer.stack[-len(around) :]
    return layer is not None and layer.training and made_in == around
