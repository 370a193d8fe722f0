"""Walk a real backward pass node by node.

The pass is the engine's own, run in a thread that waits before every node; commands
let it go on to the next stop and return. So hooks, accumulation and order are exactly
what ``backward()`` does, and the kernel is never blocked.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from gradviz import ir
from gradviz.stepping.breakpoints import Breakpoint
from gradviz.stepping.graph import Graph, engine_of, leaf_of
from gradviz.stepping.picture import Picture
from gradviz.stepping.rollback import Rollback
from gradviz.stepping.stop import Gradient, Stop, gradients_of

Until = Callable[[Stop], str]
"""Says why to stop at a node; "" goes on."""


_STEP = "step"  # the reason that needs no words


class _Abandoned(BaseException):
    """Unwinds the engine when the pass is given up."""


class _Line:
    """What the two threads share: one of them runs, the other waits."""

    def __init__(self) -> None:
        self.go = threading.Semaphore(0)
        self.stopped = threading.Semaphore(0)
        self.until: Until = lambda stop: _STEP
        self.given_up = False
        self.stop: Stop | None = None
        self.gradients: list[Any] = []  # incoming, live: to inspect and to replace
        self.done = 0
        self.passed: dict[int, tuple[Gradient | None, ...]] = {}
        self.error: BaseException | None = None


class Stepper:
    """A backward pass that waits for commands. Made by :func:`step`."""

    def __init__(
        self, loss: Any, gradient: Any, *, retain_graph: bool, frame: Any
    ) -> None:
        self._library = engine_of(loss)
        self._graph = Graph(loss, frame)
        self._loss = loss
        self._update: Callable[[Stepper], None] = lambda stepper: None
        self._line = _Line()
        self._rollback = Rollback(self._library)
        self._breakpoints: list[Breakpoint] = []
        handles = [self._watch(i, node) for i, node in enumerate(self._graph.nodes)]
        worker = threading.Thread(
            target=_run,
            args=(self._line, handles, loss, gradient, retain_graph),
            name="gradviz step",
            daemon=True,
        )
        self._worker: threading.Thread | None = worker
        worker.start()
        self._finalizer = weakref.finalize(self, _give_up, self._line, worker)
        self._resume(lambda stop: _STEP)

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

    def snapshot(self) -> ir.Snapshot:
        """Return the graph, with the gradients that have arrived so far."""
        passed = dict(self._line.passed)
        if self.stop is not None:
            passed[self.stop.index] = self.stop.incoming
        return self._picture.at(passed, None if self.stop is None else self.stop.index)

    def show(self) -> None:
        """Show the graph; in a notebook it follows every command from now on."""
        from gradviz.export import show_live

        self._update = show_live(self)

    def __repr__(self) -> str:
        if self.stop is not None:
            return repr(self.stop)
        return f"The pass is over: {self._line.done} nodes ran."

    # ---- commands -------------------------------------------------------------------

    def step(self, count: int = 1) -> Stop | None:
        """Run the next ``count`` nodes; return where the pass then waits."""
        left = count

        def until(stop: Stop) -> str:
            nonlocal left
            left -= 1
            return _STEP if left <= 0 else ""

        return self._resume(until)

    def over(self) -> Stop | None:
        """Run the nodes of this module call; stop before the first one outside."""
        here = "" if self.stop is None else self.stop.module
        if not here:
            return self.step()
        return self._resume(
            lambda stop: "" if _is_inside(stop.module, here) else f"left {here}"
        )

    def run_to(self, node: str | Any) -> Stop | None:
        """Run until a node: its name, a pattern, a node, or the tensor it made."""
        if isinstance(node, str):
            target = Breakpoint(node=node)
            return self._resume(lambda stop: f"at {node}" if target.holds(stop) else "")
        wanted = node if hasattr(node, "next_functions") else node.grad_fn
        if wanted not in self._graph.nodes:
            raise ValueError("this backward pass will not reach that node")
        index = self._graph.nodes.index(wanted)
        return self._resume(lambda stop: "at the node" if stop.index == index else "")

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
        return added

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

    def abort(self) -> None:
        """Give the pass up and leave every ``.grad`` as it was before."""
        if self.done:
            return
        self._finalizer()
        self._end()
        self._rollback.undo()
        self._update(self)

    def __enter__(self) -> Stepper:
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
            return repr(hit) if hit is not None else until(stop)

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
        leaf, reference = self._graph.leaf(node), _weak_leaf(node)
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
            replaced = _wait(line, stop, gradients)
            line.done += 1
            line.passed[index] = stop.incoming
            variable = None if reference is None else reference()
            if variable is not None:
                rollback.remember(variable)
            return replaced

        return node.register_prehook(before)


def _wait(line: _Line, stop: Stop, gradients: Sequence[Any]) -> tuple[Any, ...] | None:
    if line.given_up:
        raise _Abandoned
    reason = line.until(stop)
    if not reason:
        return None
    line.stop = replace(stop, reason="" if reason == _STEP else reason)
    line.gradients = list(gradients)
    line.stopped.release()
    line.go.acquire()
    if line.given_up:
        raise _Abandoned
    kept = line.gradients
    changed = any(a is not b for a, b in zip(kept, gradients, strict=True))
    return tuple(kept) if changed else None


def _run(
    line: _Line, handles: list[Any], loss: Any, gradient: Any, retain_graph: bool
) -> None:
    line.go.acquire()
    try:
        if not line.given_up:
            loss.backward(gradient, retain_graph=retain_graph)
    except _Abandoned:
        pass
    except BaseException as error:
        line.error = error
    finally:
        for handle in handles:
            handle.remove()
        line.stop = None
        line.stopped.release()


def _give_up(line: _Line, worker: threading.Thread) -> None:
    line.given_up = True
    line.go.release()
    worker.join()


def _weak_leaf(node: Any) -> weakref.ref[Any] | None:
    variable = leaf_of(node)
    return None if variable is None else weakref.ref(variable)


def _is_inside(module: str, outer: str) -> bool:
    return f"{module}.".startswith(f"{outer}.")


def step(loss: Any, gradient: Any = None, *, retain_graph: bool = False) -> Stepper:
    """Begin ``loss.backward()`` and wait before its first node.

    Works on tensors of gradtape and of PyTorch. ``retain_graph`` keeps the graph for
    another pass, as in ``backward()``. Raises CaptureError where there is no graph.

    >>> import gradtape as torch, gradviz
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> pass_ = gradviz.step((x * x).sum())
    >>> pass_.step().name
    'MulBackward0'
    >>> pass_.resume(), x.grad
    (None, tensor([6.]))
    """
    return Stepper(loss, gradient, retain_graph=retain_graph, frame=sys._getframe(1))
