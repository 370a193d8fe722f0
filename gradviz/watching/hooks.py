"""Listens to the steps of optimizers and hands over the looks at them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from gradviz import ir
from gradviz.watching.arrivals import Arrivals
from gradviz.watching.looks import Look, Reader
from gradviz.watching.optimizers import Optimizers, Stepped
from gradviz.watching.pace import Pace
from gradviz.watching.parameters import Parameters

Guard = Callable[[Callable[..., None]], Callable[..., None]]
Deliver = Callable[[Look, ir.FlowStep], None]


class Hooks:
    """Calls ``deliver`` with every look, when its step is over.

    ``guard`` wraps each function that an engine calls: what fails in one ends the
    watch and never reaches the user's loop.
    """

    def __init__(
        self,
        reader: Reader,
        parameters: Parameters,
        pace: Pace,
        guard: Guard,
        deliver: Deliver,
        rank: int | None,
    ) -> None:
        self.steps = 0  # seen so far
        self.first_step: Callable[[], None] | None = None  # called at the first one
        self.reader = reader
        self.parameters = parameters
        self.pace = pace
        self.guard = guard
        self.deliver = deliver
        self._rank = rank
        self._opened_ns = time.perf_counter_ns()
        self._optimizers = Optimizers(parameters)
        self._arrivals: Arrivals | None = None
        self._pictures = 0
        self._is_bad = False  # the last look saw NaN or Inf
        self._handles = reader.step_hooks(
            guard(self._before_step), guard(self._after_step)
        )
        self.expect(0)

    def close(self) -> None:
        """Take every hook off."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.drop_arrivals()
        self._optimizers.clear()

    # ---- steps of optimizers --------------------------------------------------------

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        known = self._optimizers.of(optimizer)
        if known is None:
            return
        began = time.perf_counter_ns()
        if self.first_step is not None:
            self.first_step()
            self.first_step = None
        took = known.begins(began)
        if took is not None:
            self.pace.stepped(took)
        known.look = None
        closure = _has_closure(args, kwargs)
        if self.pace.due(known.number):
            self.parameters.scan()
            known.find_rows(self.parameters)
            known.look = self.new_look(known.rows, known.number)
            known.look.copy_weights()
            if not closure:
                self._read(known.look, optimizer)
        elif not closure:
            self._glance(known, optimizer)
            if known.look is not None:
                known.look.copy_weights()
        if known.look is not None:
            known.ours_ns = time.perf_counter_ns() - began

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        known = self._optimizers.of(optimizer)
        if known is None:
            return
        closure = _has_closure(args, kwargs)
        is_due = known.look is not None
        if closure and not is_due:
            self._glance(known, optimizer)
        look, known.look = known.look, None
        number = known.number
        known.number += 1
        self.steps = max(self.steps, known.number)
        if look is None:
            self.drop_arrivals()  # hung up for a step that was not due after all
            self.expect(known.number)
            return
        began = time.perf_counter_ns()
        if not self.reader.skips(optimizer):
            if closure and is_due:  # it has computed the gradients just now
                self._read(look, optimizer)
            look.read_changes()
            for row in look.rows:
                self.parameters.named(row, known.kind)
            rate = optimizer.param_groups[0].get("lr")
            self.hand_over(look, self.record(number, known, rate))
        self.drop_arrivals()
        known.ours_ns += time.perf_counter_ns() - began
        self.pace.looked(known.ours_ns)
        self.expect(known.number)

    def _read(self, look: Look, optimizer: Any) -> None:
        look.read_gradients(self.reader.scale(optimizer), self.wants_pictures())

    def _glance(self, known: Stepped, optimizer: Any) -> None:
        """Look at one small gradient; if it is bad, at all of them at once."""
        if self._is_bad or known.number % self.pace.sentinel:
            return
        began = time.perf_counter_ns()
        row = known.next_small(self.parameters)
        parameter = None if row is None else self.parameters.get(row)
        gradient = None if parameter is None else parameter.grad
        if gradient is None:
            return
        if self.reader.is_bad(gradient) and not self.reader.skips(optimizer):
            known.look = self.new_look(known.rows, known.number)
            known.look.read_gradients(self.reader.scale(optimizer))
        else:
            self.pace.glanced(time.perf_counter_ns() - began)

    # ---- looks ----------------------------------------------------------------------

    def new_look(self, rows: Sequence[int], number: int) -> Look:
        """Return a look at those of the rows that require a gradient now."""
        learning = {row for row, _ in self.parameters.learning()}
        kept = [row for row in rows if row in learning]
        return Look(self.reader, self.parameters, kept, number)

    def wants_pictures(self) -> bool:
        """Tell whether a look takes histograms: the 1st, 2nd, 4th, 8th, … one."""
        self._pictures += 1
        return self._pictures & (self._pictures - 1) == 0 or self._pictures % 16 == 0

    def record(
        self, number: int, known: Stepped | None, rate: Any = None
    ) -> ir.FlowStep:
        """Return the record of a step, with the times that are known."""
        now = time.perf_counter_ns()
        began = now if known is None or known.began_ns is None else known.began_ns
        seen, backward, wait = self._arrivals, None, None
        if seen is not None and seen.first_ns is not None and seen.last_ns is not None:
            backward = seen.last_ns - seen.first_ns
            if known is not None and seen.last_ns <= began:
                wait = began - seen.last_ns
        return ir.FlowStep(
            number,
            began - self._opened_ns,
            rank=self._rank,
            step_ns=None if known is None else known.step_ns,
            backward_ns=backward,
            wait_ns=wait,
            learning_rate=None if rate is None else float(rate),
            stepped=known is not None,
        )

    def hand_over(self, look: Look, step: ir.FlowStep) -> None:
        """Deliver a look, with the norms that gradients had on arrival."""
        if self._arrivals is not None:
            for row, norm in self._arrivals.norms.items():
                look.note_local(row, norm)
        self._is_bad = look.is_bad
        self.deliver(look, step)

    def expect(self, number: int) -> None:
        """Hang hooks on the parameters if the step that comes next is looked at."""
        if self._arrivals is None and self.pace.due(number):
            self._arrivals = Arrivals(
                self.reader, self.parameters, self.guard, local=self._rank is not None
            )

    def drop_arrivals(self) -> None:
        """Take the hooks off the parameters again."""
        if self._arrivals is not None:
            self._arrivals.close()
            self._arrivals = None


def _has_closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether a step computes its gradients itself; the optimizer comes first."""
    return any(callable(each) for each in (*args[1:], *kwargs.values()))
