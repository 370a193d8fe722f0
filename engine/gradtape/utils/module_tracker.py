"""Knowing which modules are running, forward and backward."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import Any

from .._common.handles import RemovableHandle
from .._engine import graph_task
from .._tensor.tensor import Tensor
from ..autograd.graph import register_multi_grad_hook
from ..nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]

logger = logging.getLogger(__name__)


class ModuleTracker:
    """Keep ``parents``, the names of the modules that are running, up to date.

    "Global" is always among them. A module runs backward from when all gradients of its
    outputs are there until all gradients of its inputs are; ``is_bw`` tells whether a
    backward pass is running.

    >>> import gradtape as torch
    >>> from gradtape.utils.module_tracker import ModuleTracker
    >>> layer = torch.nn.Linear(2, 2)
    >>> seen = []
    >>> with ModuleTracker() as tracker:
    ...     hook = layer.register_forward_pre_hook(
    ...         lambda *_: seen.append(sorted(tracker.parents))
    ...     )
    ...     _ = layer(torch.ones(1, 2))
    >>> seen
    [['Global', 'Linear']]
    """

    parents: set[str]

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._seen: weakref.WeakSet[Any] = weakref.WeakSet()
        self._waits = False
        self._hooks: list[RemovableHandle] = []
        self._handles: tuple[RemovableHandle, ...] = ()

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is running in this thread."""
        return graph_task.current_id() != -1

    def __enter__(self) -> ModuleTracker:
        self._handles = (
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        )
        return self

    def __exit__(self, *_: object) -> None:
        for handle in (*self._handles, *self._hooks):
            handle.remove()
        self._hooks.clear()

    def _name(self, module: Any) -> str:
        """Return the module's path from the outermost one that was called."""
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._seen:
            for child_name, child in module.named_children():
                self._names[child] = f"{name}.{child_name}"
                self._name(child)
            self._seen.add(module)
        return name

    def _before(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self._enter(name, "forward")
        self._when_ready(args, lambda _: self._leave(name, "backward"))

    def _after(self, module: Any, _args: Any, output: Any) -> None:
        name = self._name(module)
        self._leave(name, "forward")
        self._when_ready(output, lambda _: self._enter(name, "backward"))

    def _when_ready(self, values: Any, run: Callable[[Any], None]) -> None:
        tensors = [
            leaf
            for leaf in tree_leaves(values)
            if isinstance(leaf, Tensor) and leaf.requires_grad
        ]
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, run))

    def _enter(self, name: str, phase: str) -> None:
        if phase == "backward" and not self._waits:
            self._waits = True
            graph_task.queue_callback(self._over)
        if name in self.parents:
            logger.info("Module %s was already running (%s).", name, phase)
        self.parents.add(name)

    def _leave(self, name: str, phase: str) -> None:
        if name not in self.parents:
            logger.info("Module %s ends without having begun (%s).", name, phase)
        self.parents.discard(name)

    def _over(self) -> None:
        """Forget modules whose inputs needed no gradient, which nothing ended."""
        self.parents = {"Global"}
        self._waits = False
