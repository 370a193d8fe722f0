"""Listens to the steps of optimizers and hands over the looks at them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from gradviz import ir
from gradviz.watching.arrivals import Arrivals
from gradviz.watching.looks import Look, Reader
from gradviz.watching.optimizers import Optimizers, Stepped
from gradviz.watching.parameters import Parameters
from gradviz.watching.sampling import SamplingSchedule

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
        schedule: SamplingSchedule,
        guard: Guard,
        deliver: Deliver,
        rank: int | None,
    ) -> None:
        self.steps = 0  # seen so far
        self.first_step: Callable[[], None] | None = None  # called at the first one
        self.reader = reader
        self.parameters = parameters
        self.schedule = schedule
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
        self._now: Stepped | None = None  # whose step runs
        self.expect()

    def close(self) -> None:
        """Take every hook off."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.drop_arrivals()
        self._optimizers.clear()

    # ---- steps of optimizers --------------------------------------------------------

    # Of most steps only the first lines of both run: they are what a watch costs.

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        known = self._now = self._optimizers.of(optimizer)
        if known is None:
            return
        if known.number >= known.due:
            self._begin_look(known, optimizer, args, kwargs)
        elif known.number % self.schedule.sentinel == 0 and not _has_closure(
            args, kwargs
        ):
            self._glance(known, optimizer)
            if known.look is not None:
                known.look.copy_weights()

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        known, self._now = self._now, None
        if known is None or known.reference() is not optimizer:
            return
        number = known.number
        glance = known.look is None and number % self.schedule.sentinel == 0
        if glance and _has_closure(args, kwargs):
            self._glance(known, optimizer)
        known.number = number + 1
        if number >= self.steps:
            self.steps = number + 1
        if known.look is not None:
            self._end_look(known, known.look, optimizer, args, kwargs)
            known.look = None
        if known.number == known.due:
            known.ended_ns = time.perf_counter_ns()
            self.expect()

    def _begin_look(
        self, known: Stepped, optimizer: Any, args: Any, kwargs: Any
    ) -> None:
        began = time.perf_counter_ns()
        if self.first_step is not None:
            self.first_step()
            self.first_step = None
        known.began_ns = began
        self.parameters.scan()
        known.find_rows(self.parameters)
        look = known.look = self.new_look(known.rows, known.number)
        look.copy_weights()
        if not _has_closure(args, kwargs):
            self._read(look, optimizer)
        known.stepping_ns = time.perf_counter_ns()
        known.ours_ns = known.stepping_ns - began

    def _end_look(
        self, known: Stepped, look: Look, optimizer: Any, args: Any, kwargs: Any
    ) -> None:
        began = time.perf_counter_ns()
        is_due = look.number >= known.due
        if not self.reader.skips(optimizer):
            if is_due and _has_closure(args, kwargs):  # gradients computed just now
                self._read(look, optimizer)
            look.read_changes()
            for row in look.rows:
                self.parameters.named(row, known.kind)
            rate = optimizer.param_groups[0].get("lr")
            step = self.record(look.number, known if is_due else None, rate, True)
            self.hand_over(look, step)
        if is_due:
            took = known.step_ns(began)
            if took is not None:
                local = 0 if self._arrivals is None else self._arrivals.cost_ns
                known.ours_ns += local
                self.schedule.stepped(max(took - local, 1))
            self.drop_arrivals()
            self.schedule.looked(known.ours_ns + time.perf_counter_ns() - began)
            known.due = self.schedule.next_due(known.number)

    def _read(self, look: Look, optimizer: Any) -> None:
        look.read_gradients(self.reader.scale(optimizer), self.wants_pictures())

    def _glance(self, known: Stepped, optimizer: Any) -> None:
        """Look at one small gradient; if it is bad, at all of them at once."""
        if self._is_bad:
            return
        began = time.perf_counter_ns()
        row = known.next_small()
        parameter = None if row is None else self.parameters.get(row)
        gradient = None if parameter is None else parameter.grad
        if gradient is None:
            return
        if self.reader.is_bad(gradient) and not self.reader.skips(optimizer):
            known.look = self.new_look(known.rows, known.number)
            known.look.read_gradients(self.reader.scale(optimizer))
        else:
            self.schedule.glanced(time.perf_counter_ns() - began)

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
        self,
        number: int,
        known: Stepped | None,
        rate: Any = None,
        stepped: bool = False,
    ) -> ir.FlowStep:
        """Return the record of a step, with the times that are known."""
        now = time.perf_counter_ns()
        began = now if known is None else known.began_ns or now
        seen, backward, wait = self._arrivals, None, None
        if seen is not None and seen.first_ns is not None and seen.last_ns is not None:
            backward = seen.last_ns - seen.first_ns
            if known is not None and seen.last_ns <= began:
                wait = began - seen.last_ns
        return ir.FlowStep(
            number,
            began - self._opened_ns,
            rank=self._rank,
            step_ns=None if known is None else known.step_ns(now),
            backward_ns=backward,
            wait_ns=wait,
            learning_rate=None if rate is None else float(rate),
            stepped=stepped,
        )

    def hand_over(self, look: Look, step: ir.FlowStep) -> None:
        """Deliver a look, with the norms that gradients had on arrival."""
        if self._arrivals is not None:
            for row, norm in self._arrivals.norms.items():
                look.note_local(row, norm)
        self._is_bad = look.is_bad
        self.deliver(look, step)

    def expect(self) -> None:
        """Hang hooks on the parameters: the step that comes next is looked at."""
        if self._arrivals is None:
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
    if len(args) < 2 and not kwargs:
        return False
    return any(callable(each) for each in (*args[1:], *kwargs.values()))
