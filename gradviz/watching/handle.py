"""What ``gradviz.watch()`` gives: a training under observation."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gradviz import ir
from gradviz.errors import GradvizError
from gradviz.flow.ranks import SPREAD
from gradviz.flow.table import Flow, flow_of
from gradviz.text.words import counted
from gradviz.watching import ending
from gradviz.watching.alarms import Alarms
from gradviz.watching.feed import Feed, Sink
from gradviz.watching.history import History
from gradviz.watching.hooks import Hooks
from gradviz.watching.looks import Look, merged, reader_of
from gradviz.watching.manual_loops import ManualLoop
from gradviz.watching.parameters import Parameters
from gradviz.watching.ranks import launched_rank, launched_size
from gradviz.watching.sampling import SamplingSchedule

if TYPE_CHECKING:
    from gradviz.diagnosis.diagnose import Diagnosis
    from gradviz.live import Delta, Progress
    from gradviz.showing.live_view import LiveView


class WatchSource:
    """Says when there is a new look, and what the history is then.

    The view has a thread of its own; it does not keep the watch alive.
    """

    def __init__(
        self, looks: Callable[[], int], snapshot: Callable[[], ir.Snapshot]
    ) -> None:
        self._looks = weakref.WeakMethod(looks)
        self._snapshot = weakref.WeakMethod(snapshot)
        self._last = ir.Snapshot("gradviz")

    def version(self) -> int:
        """Return how many looks there were; the view pauses where nothing is new."""
        looks = self._looks()
        return 0 if looks is None else looks()

    def full(self) -> ir.Snapshot:
        """Return the history so far."""
        snapshot = self._snapshot()
        if snapshot is not None:
            self._last = snapshot()
        return self._last

    def delta(self) -> Delta | None:
        """Return None: a history is sent as a whole, and seldom."""
        return None

    def progress(self) -> Progress | None:
        """Return None: the history has the steps that were looked at."""
        return None


def watch(
    model: Any,
    optimizer: Any = None,
    *,
    every: int | None = None,
    overhead: float = 0.03,
    page: str | os.PathLike[str] | None = ending.AUTO,
    say: Callable[[str], object] | None = None,
    title: str = "",
    sinks: Iterable[Sink] = (),
    first_step: int = 0,
) -> Watch:
    """Watch the gradients of a model while it trains, for hours, at a small cost.

    Call it once before the loop, which stays as it is: a plain one, Lightning's or
    Hugging Face's. At some steps it reads, of every parameter, the gradient as the
    optimizer uses it (accumulated, unscaled, clipped, averaged) and how much the step
    changes. What goes wrong (NaN or Inf, exploding, vanishing, zero or missing
    gradients) is said once, with the parameter and the step.

    The steps are chosen such that the training is slowed down by at most the share
    ``overhead``, after 50 ms for the first of them; ``every=N`` looks at every N-th
    step, whatever it costs. In between, one small gradient of a step shows NaN.
    Optimizers are found when they step, so ``optimizer`` may be left out; it tells a
    training that uses one from a loop that changes parameters itself, where every
    backward pass counts as a step.

    At the end (``close()``, the end of a ``with`` block, an exception, an interrupt or
    the end of Python) the history is written to ``page``: HTML, or another form by its
    suffix. Without a name that is ``gradviz-watch.html``, and nothing in a notebook;
    ``page=None`` writes nothing. One of several processes writes its rank into the
    name, and ``gradviz merge`` puts the files together. ``say`` gets the sentences
    instead of stderr.

    ``sinks`` are told every step that is looked at, every finding and, at the end, the
    page: TensorBoard and others of :mod:`gradviz.integrations`, or a class of your own
    with the three methods of a :class:`gradviz.integrations.Sink`. For them, steps are
    counted from ``first_step``. One that fails gets nothing more. Of several processes
    the first tells them.

    Results stay bit-equal, and nothing fails because of a watch: what goes wrong in it
    is said once and ends it. Raises CaptureError if ``model`` is no module, and
    ExportError if ``page`` cannot be written.

    >>> import torch, gradviz
    >>> net = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    >>> with gradviz.watch(net, optimizer, page=None) as seen:
    ...     for _ in range(4):
    ...         optimizer.zero_grad()
    ...         net(torch.ones(3, 2)).pow(2).mean().backward()
    ...         optimizer.step()
    >>> seen.steps, seen.history.norms.shape[0]
    (4, 2)
    """
    if every is not None and every < 1:
        raise ValueError(f"every counts steps between looks, at least 1, not {every}")
    if not 0 < overhead <= 1:
        raise ValueError(f"overhead is a share of the time above 0, not {overhead}")
    return Watch(
        model,
        has_optimizer=optimizer is not None,
        schedule=SamplingSchedule(every, overhead),
        page=page,
        say=say,
        title=title,
        sinks=sinks,
        first_step=first_step,
    )


class Watch:
    """The history of a training, while it grows and afterwards.

    ``history`` has the gradients as matrices of layers by steps, ``findings`` what went
    wrong, ``snapshot()`` both as records that every view of gradviz takes.
    """

    def __init__(
        self,
        model: Any,
        *,
        has_optimizer: bool,
        schedule: SamplingSchedule,
        page: str | os.PathLike[str] | None,
        say: Callable[[str], object] | None,
        title: str,
        sinks: Iterable[Sink],
        first_step: int,
    ) -> None:
        self._reader = reader_of(model)
        rank, size = self._reader.rank(), self._reader.size()
        self._rank = launched_rank() if rank is None else rank
        self._size = launched_size() if size is None else size
        self._page = ending.page_for(page, self._rank)
        self._write_say = say
        self._notes: list[str] = []
        self._history = History()
        self._alarms = Alarms(self._say)
        self._feed = Feed(() if self._rank else sinks, first_step, self._say)
        self._parameters = Parameters(model)
        if self._parameters.spread:
            self._notes.append(SPREAD)
        self.title = title or type(model).__name__
        self.open = True
        self.path: Path | None = None  # of the file that was written
        self._hooks = Hooks(
            self._reader,
            self._parameters,
            schedule,
            self._guard,
            self._take,
            rank=self._rank,
        )
        self._manual_loop = None if has_optimizer else ManualLoop(self._hooks)
        if self._manual_loop is not None:
            self._hooks.first_step = self._leave_manual_loop
        self._followings: list[LiveView] = []
        self._error = ""  # that ended the training
        self._forget_exit = ending.at_exit(self)

    # ---- while it runs --------------------------------------------------------------

    def _take(self, look: Look, step: ir.FlowStep) -> None:
        """Keep a look, and say what is new in it."""
        rows = self._history.rows
        if rows and rows[-1].step.number == step.number:
            merged(rows[-1], look)  # of another optimizer, at the same step
        else:
            self._history.add(look.row(step))
        layers, known = self._parameters.layers, len(self._alarms.findings)
        self._feed.step(rows[-1], layers)
        news = self._alarms.look(layers, look.points(), step.number)
        if news:
            rows[-1].marked = True
        for finding in self._alarms.findings[known:]:
            self._feed.finding(step.number, finding)

    def _leave_manual_loop(self) -> None:
        """An optimizer steps: passes are no longer steps of their own."""
        if self._manual_loop is not None:
            self._manual_loop.close()
            self._manual_loop = None
            self._history = History()
            self._feed.forget()

    def _guard(self, function: Callable[..., None]) -> Callable[..., None]:
        """Keep what fails in a function of ours from the user's loop."""

        def guarded(*args: Any) -> None:
            if not self.open:
                return
            try:
                function(*args)
            except Exception as error:
                self._give_up(error)

        return guarded

    def _give_up(self, error: Exception) -> None:
        note = (
            f"The watch ended early, because it failed: {type(error).__name__}: "
            f"{str(error)[:300]}. The training goes on."
        )
        self._notes.append(note)
        self.open = False
        self._take_hooks_off()
        self._say(note)

    def _say(self, text: str) -> None:
        try:
            if self._write_say is not None:
                self._write_say(text)
            elif sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
                print(f"gradviz: {text}", file=sys.stderr, flush=True)
        except Exception as error:
            self._notes.append(f"A sentence could not be said: {error}")

    # ---- the end --------------------------------------------------------------------

    def close(self) -> None:
        """Take all hooks off, write the page, tell the sinks; once."""
        if self.open:
            if self._manual_loop is not None:
                self._guard(self._manual_loop.finish)()
            self.open = False
            self._take_hooks_off()
        self._forget_exit()
        self._end_views()
        page, self._page = self._page, None
        if page is not None and self._history.rows:
            try:
                self.path = ending.write(self.snapshot(), page, self._say)
                looks = counted(len(self._history.rows), "look")
                self._say(f"{looks} at {counted(self.steps, 'step')}: {self.path}")
            except (GradvizError, OSError) as error:
                self._say(f"the history was not written: {error}")
        self._feed.end(self.path, self._parameters.layers)

    def _take_hooks_off(self) -> None:
        try:
            self._hooks.close()
            if self._manual_loop is not None:
                self._manual_loop.close()
        except Exception as error:
            self._notes.append(f"A hook could not be removed: {error}")
        self._manual_loop = None

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.note_error(error)
        self.close()

    def note_error(self, error: BaseException) -> None:
        """Keep the error that ended the training: it is told of a rank that stopped."""
        if self._rank is not None and not isinstance(error, SystemExit):
            self._error = f"{type(error).__name__}: {error}"[:1_000]

    # ---- results --------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """How many steps were taken so far, looked at or not."""
        return self._hooks.steps

    @property
    def looks(self) -> int:
        """How many of them were looked at; the history keeps some."""
        return self._history.seen

    @property
    def findings(self) -> tuple[ir.Finding, ...]:
        """What went wrong so far, in the order it was noticed."""
        return tuple(self._alarms.findings)

    @property
    def history(self) -> Flow:
        """The gradients so far: matrices of layers by steps."""
        return flow_of(self.snapshot(), self._rank)

    def snapshot(self) -> ir.Snapshot:
        """Return history and findings as records."""
        steps, points, statistics = self._history.tables()
        return ir.Snapshot(
            f"{self._reader.engine} watched by gradviz",
            self.title,
            statistics=statistics,
            findings=self.findings,
            notes=tuple(self._notes),
            flow_layers=tuple(self._parameters.layers),
            flow_steps=steps,
            flow=points,
            events=self._end(steps),
            processes=self._process(),
        )

    def _end(self, steps: tuple[ir.FlowStep, ...]) -> tuple[ir.Event, ...]:
        last_ns = steps[-1].time_ns if steps else 0
        return (ir.Event("error", last_ns, text=self._error),) if self._error else ()

    def _process(self) -> tuple[ir.Process, ...]:
        if self._rank is None:
            return ()
        return (ir.Process(self._rank, self._size, self.steps),)

    def diagnose(self) -> Diagnosis:
        """Return the findings as :func:`gradviz.diagnose` does."""
        from gradviz.diagnosis.diagnose import Diagnosis

        return Diagnosis(self.findings, (), (), notes=tuple(self._notes))

    def plot(self, figure: str = "gradient_flow", **options: Any) -> Any:
        """Return a figure of :mod:`gradviz.plot`, ``"gradient_flow"`` or another."""
        from gradviz import plot

        if figure not in plot.__all__:
            raise ValueError(f"there is no figure {figure!r}; see gradviz.plot")
        return getattr(plot, figure)(self, **options)

    def show(self) -> None:
        """Show the history; see :func:`gradviz.show`.

        In a notebook the view below the cell follows the training until it is closed.
        """
        from gradviz.showing.show import follow, show

        source = WatchSource(self._count_looks, self.snapshot)
        following = follow(source) if self.open else None
        if following is None:
            show(self)
        else:
            self._followings.append(following)

    def _count_looks(self) -> int:
        return self.looks

    def _end_views(self) -> None:
        followings, self._followings = self._followings, []
        for following in followings:
            try:
                if not following.end(self.snapshot()):
                    self.show()
            except Exception as error:
                self._notes.append(f"A view was not brought to its end: {error}")

    def __repr__(self) -> str:
        from gradviz.render.text import to_text

        return to_text(self.snapshot())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from gradviz.showing.show import still_forms

        return still_forms(self.snapshot())
