"""Walk a real backward pass node by node.

The pass is the engine's own, run in a thread that waits before every node; commands
let it go on to the next stop and return. So hooks, accumulation and order are exactly
what ``backward()`` does, and the kernel is never blocked.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Self

from gradviz import ir
from gradviz.errors import CaptureError
from gradviz.stepping.breakpoints import Breakpoint
from gradviz.stepping.graph import Graph, engine_of, weak_leaf
from gradviz.stepping.picture import Picture, details_of
from gradviz.stepping.rollback import Rollback
from gradviz.stepping.stop import Stop, gradients_of
from gradviz.stepping.threads import STEP, Line, Until, give_up, run, wait
from gradviz.threads import started

_NO_THREAD = (
    "A backward pass is stepped through in a thread of its own, and this Python can "
    "start none, as in a browser."
)


class PassControl:
    """A backward pass that waits for commands, whoever gives them."""

    def __init__(
        self, loss: Any, gradient: Any, *, retain_graph: bool, frame: Any
    ) -> None:
        self._library = engine_of(loss)
        self._graph = Graph(loss, frame)
        self._loss = loss
        self._update: Callable[[PassControl], None] = lambda control: None
        self._line = Line()
        self._rollback = Rollback(self._library)
        self._breakpoints: list[Breakpoint] = []
        handles = [self._watch(i, node) for i, node in enumerate(self._graph.nodes)]
        worker = threading.Thread(
            target=run,
            args=(self._line, handles, loss, gradient, retain_graph),
            name="gradviz step",
            daemon=True,
        )
        self._worker: threading.Thread | None = worker
        if not started(worker):
            for handle in handles:
                handle.remove()
            raise CaptureError(_NO_THREAD)
        self._finalizer = weakref.finalize(self, give_up, self._line, worker)
        self._resume(lambda stop: STEP)

    # ---- where it stands ------------------------------------------------------------

    @property
    def stop(self) -> Stop | None:
        """Where the pass waits; None once it is over."""
        return self._line.stop

    @property
    def done(self) -> bool:
        """Whether the pass is over: run to its end, or aborted."""
        return self._worker is None

    @property
    def incoming(self) -> tuple[Any, ...]:
        """The gradients that reached the node about to run, as tensors."""
        return tuple(self._line.gradients)

    @cached_property
    def _picture(self) -> Picture:
        return Picture(self._loss, self._graph.nodes)

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        """What the pass stops for, in the order it was asked for."""
        return tuple(self._breakpoints)

    def snapshot(self) -> ir.Snapshot:
        """Return the graph, with the gradients that have arrived so far.

        Where the pass waits they come with all their statistics, else with their norm.
        """
        if self.stop is not None:
            self._picture.look_at(self.stop, details_of(self._library, self.incoming))
        return self._picture.at(self._line.passed, self.stop)

    def row_of(self, index: int) -> int | None:
        """Return the row of a node in the snapshot, if it has one."""
        return self._picture.rows[index]

    def __repr__(self) -> str:
        return repr(self.stop) if self.stop is not None else self.outcome

    @property
    def error(self) -> BaseException | None:
        """What the pass raised, if it did."""
        return self._line.error

    @property
    def given_up(self) -> bool:
        """Whether the pass was aborted."""
        return self._line.given_up

    @property
    def outcome(self) -> str:
        """How the pass ended, in a sentence; "" while it waits."""
        return self._line.outcome() if self.done else ""

    # ---- commands -------------------------------------------------------------------

    def step(self, count: int = 1) -> Stop | None:
        """Run the next ``count`` nodes; return where the pass then waits."""
        left = count

        def until(stop: Stop) -> str:
            nonlocal left
            left -= 1
            return STEP if left <= 0 else ""

        return self._resume(until)

    def over(self) -> Stop | None:
        """Run the nodes of this module call; stop before the first one outside.

        Gradients that leaves receive meanwhile are no reason to stop.
        """
        here = "" if self.stop is None else self.stop.module
        if not here:
            return self.step()
        return self._resume(
            lambda stop: "" if stop.leaf or stop.is_inside(here) else f"left {here}"
        )

    def run_to(self, node: str | Any) -> Stop | None:
        """Run until a node: its name, a pattern, a node, or the tensor it made."""
        if isinstance(node, str):
            if not any(fnmatchcase(name, node) for name in self.ahead()):
                raise ValueError(f"no node ahead is called {node}")
            target = Breakpoint(node=node)
            return self._resume(lambda stop: f"at {node}" if target.holds(stop) else "")
        wanted = node if hasattr(node, "next_functions") else node.grad_fn
        if wanted not in self._graph.nodes:
            raise ValueError("this backward pass will not reach that node")
        return self.run_to_index(self._graph.nodes.index(wanted))

    def run_to_index(self, index: int) -> Stop | None:
        """Run until a node by its place in the walk, as a stop's ``index`` tells it."""
        if index in self._line.passed:
            raise ValueError("that node has run already")
        return self._resume(lambda stop: "at the node" if stop.index == index else "")

    def ahead(self) -> list[str]:
        """Return the names of the nodes that run after the waiting one."""
        here = -1 if self.stop is None else self.stop.index
        return self._graph.names_without({here, *self._line.passed})

    def break_when(
        self,
        *,
        node: str | None = None,
        module: str | None = None,
        above: float | None = None,
        below: float | None = None,
        nan: bool = False,
        nonzero: bool = False,
    ) -> Breakpoint:
        """Stop from now on where all of these hold; see :class:`Breakpoint`."""
        added = Breakpoint(node, module, above, below, nan, nonzero)
        self._breakpoints.append(added)
        self._update(self)
        return added

    def clear(self, number: int | None = None) -> None:
        """Forget one breakpoint, counted from 0 in ``breakpoints``, or all of them."""
        if number is None:
            self._breakpoints.clear()
        elif 0 <= number < len(self._breakpoints):
            del self._breakpoints[number]
        else:
            raise IndexError(f"there is no breakpoint {number}")
        self._update(self)

    def resume(self) -> Stop | None:
        """Run to the next breakpoint, or to the end."""
        return self._resume(lambda stop: "")

    def replace(self, gradient: Any, index: int = 0) -> None:
        """Let the node about to run receive another gradient.

        Its shape must be that of the gradient it replaces; ``index`` counts outputs.
        """
        if self.stop is None:
            raise RuntimeError("the backward pass is over; there is nothing to replace")
        held = self._line.gradients
        if not 0 <= index < len(held):
            raise IndexError(
                f"{self.stop.name} has {len(held)} outputs, not {index + 1}"
            )
        now = held[index]
        if now is not None and tuple(gradient.shape) != tuple(now.shape):
            raise ValueError(
                f"{self.stop.name} expects a gradient of shape {tuple(now.shape)} for "
                f"output {index}, not {tuple(gradient.shape)}"
            )
        held[index] = gradient
        self._line.stop = replace(self.stop, incoming=gradients_of(held))
        self._update(self)

    def abort(self) -> None:
        """Give the pass up and leave every ``.grad`` as it was before."""
        if self.done:
            return
        self._finalizer()
        self._end()
        self._rollback.undo()
        self._update(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.abort()

    # ---- the two threads ------------------------------------------------------------

    def _resume(self, until: Until) -> Stop | None:
        if self.done:
            return None
        line = self._line
        marks = self._breakpoints

        def first_reason(stop: Stop) -> str:
            hit = next((each for each in marks if each.holds(stop)), None)
            return str(hit) if hit is not None else until(stop)

        line.until = first_reason
        line.go.release()
        line.stopped.acquire()
        if line.stop is None:
            self._end()
        self._update(self)
        if line.error is not None:
            raise line.error
        return line.stop

    def _end(self) -> None:
        self._line.stop, self._line.gradients = None, []
        if self._worker is not None:
            self._worker.join()
            self._worker = None
        self._finalizer.detach()

    def _watch(self, index: int, node: Any) -> Any:
        """Put the hook on a node that waits before it runs.

        The hook must not hold its node: nobody could free that cycle.
        """
        line, rollback, name = self._line, self._rollback, type(node).__name__
        site, module = self._graph.site(node), self._graph.module(node)
        leaf, reference = self._graph.leaf(node), weak_leaf(node)
        total = len(self._graph.nodes)

        def before(gradients: Sequence[Any]) -> tuple[Any, ...] | None:
            stop = Stop(
                name=name,
                module=module,
                site=site,
                incoming=gradients_of(gradients),
                number=line.done,
                total=total,
                index=index,
                leaf=leaf,
            )
            replaced = wait(line, stop, gradients)
            line.done += 1
            line.passed[index] = (
                stop.incoming if replaced is None else gradients_of(replaced)
            )
            variable = None if reference is None else reference()
            if variable is not None:
                rollback.remember(variable)
            return replaced

        return node.register_prehook(before)
