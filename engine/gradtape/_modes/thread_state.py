"""Switches: what one thread has switched on, and the threads that there are."""

from __future__ import annotations

import contextvars
import threading
import weakref
from typing import Any

import numpy as np

from .._graph.anomaly import anomaly
from .._graph.node import Node
from .._graph.protocols import TaskLike
from .._graph.scope import Scope

threads: weakref.WeakSet[Switches] = weakref.WeakSet()
"""The switches of every thread, for what is switched for all of them at once."""

threads_lock = threading.RLock()

ROWS_AT_ONCE = 1024
"""Elements that NumPy collects before it computes, where an operand is broadcast.

It copies the smaller operand to fit, unless a row is longer than that. With its own
8192 adding a bias takes twice as long as adding a whole matrix: 101 µs for 512 x 1024
float32, and 64 so.
"""

recorders: list[Any] = []
"""The profilers that record every thread, also those that begin later."""


class Switches:
    """What one thread has switched on, and how it runs kernels.

    ``rare`` says that something is on which only the general path knows; the hot path
    looks at nothing else, and at ``anomaly`` where it records.
    Whoever changes one of the rare switches calls :meth:`settle`.
    """

    __slots__ = (
        "__weakref__",
        "anomaly",
        "asked",
        "asking",
        "casting",
        "checks",
        "collected",
        "dispatch",
        "dispatches",
        "duals",
        "evaluating",
        "forward",
        "functions",
        "grad",
        "inference",
        "inference_leaves",
        "levels",
        "multithreading",
        "once",
        "overrides",
        "packing",
        "profile",
        "rare",
        "run",
        "scope",
        "task",
        "watch",
    )

    def __init__(self) -> None:
        self.grad = True  # whether ops are recorded; never in inference mode
        self.asked = False  # what is_grad_enabled() says in inference mode
        self.scope: Scope | None = None
        self.rare = False
        self.anomaly = False  # who called is recorded with every node
        self.checks = False  # results of ops are checked for NaN
        self.evaluating: Node | None = None  # in backward, where anomaly mode asks
        self.inference = False  # inference_mode
        self.inference_leaves = False  # one that requires grad was made here
        self.packing: list[Any] = []  # saved_tensors_hooks, outermost first
        self.dispatch: tuple[Any, ...] = ()  # TorchDispatchModes, outermost first
        self.dispatches = True  # whether classes have a say below autograd
        self.asking: Any = (
            None  # what modes or classes are asked about; see torch_dispatch
        )
        self.casting: Any = None  # autocast, which chooses the precision of ops
        self.task: TaskLike | None = None  # the backward pass that runs here
        self.collected: Any = None  # of the pass that is about to begin, by who looked
        self.overrides = True  # whether tensors of the user's classes have a say
        self.functions: tuple[Any, ...] = ()  # TorchFunctionModes, outermost first
        self.once = False  # the next function runs without them
        self.multithreading = True  # what set_multithreading_enabled() asked for
        self.levels: Any = None  # the innermost level of forward mode
        self.forward = True  # whether forward mode is on
        self.duals: Any = None  # the level, if it is: settle() sees to it
        self.watch: Any = None  # a vmap, which has a say in reading and writing
        self.profile: Any = None  # who wants to know when ops begin and end
        # Kernels run in a context of their own where NumPy's floating-point warnings
        # are off, as in PyTorch. The user's NumPy settings stay untouched, and it
        # costs 0.02 µs a call; np.errstate costs 0.8. The same goes for the buffer.
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        context.run(np.setbufsize, ROWS_AT_ONCE)
        self.run = context.run
        """Call a kernel quietly. Kernels must not call back into user code."""
        with threads_lock:
            self.anomaly = anomaly.enabled
            self.checks = anomaly.enabled and anomaly.check_forward
            self.profile = recorders[-1] if recorders else None
            threads.add(self)
        self.settle()

    def settle(self) -> None:
        """Work out anew whether anything rare is on."""
        self.duals = self.levels if self.forward else None
        self.rare = bool(
            self.inference_leaves
            or self.inference
            or self.packing
            or self.dispatch
            or self.casting
            or self.duals
            or self.profile
            or self.checks
        )
