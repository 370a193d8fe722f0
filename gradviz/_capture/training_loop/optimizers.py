"""Optimizers: what they were given, when they stepped, what they found and wrote."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import weakref
from itertools import compress
from operator import ne
from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from gradviz._capture.names.user_code import probing
from gradviz._capture.training_loop.patches import (
    Anything,
    Here,
    Part,
    Patches,
    unseen,
)
from gradviz._capture.training_loop.weight_changes import (
    Standing,
    WeightsBefore,
    is_narrow,
)
from gradviz.program.events import Call, OptimizerCall
from gradviz.program.log import MOST_GONE, Gone
from gradviz.program.noted import Glance
from gradviz.program.records import Optimizer
from gradviz.program.values import ParameterState, RawSite, Value

if TYPE_CHECKING:
    from gradviz._capture.context import LogContext

_FRESH = 16  # steps after which layouts of parameters are read anew
_MEASURED = 4  # first steps whose change is measured; then one of _FRESH: it costs

States: TypeAlias = tuple[tuple[Any, ...], ...]
"""The fields of one ParameterState per parameter; the garbage collector lets it go."""


class _Seen:
    """What is kept of one optimizer between its calls; it goes with the optimizer."""

    def __init__(self, row: Optimizer) -> None:
        self.reference: Any = None
        self.row = row
        self.params: list[Any] = []
        self.needs: list[bool] = []
        self.has: list[bool] = []
        self.states: States = ()
        self.written: list[bool] = []  # by the last step, for each parameter
        self.values: tuple[Glance | Value, ...] = ()
        self.steps = 0
        self.weights: tuple[int, WeightsBefore] | None = None  # while a step runs
        self.measured = 0  # the last step whose change was measured
        self.standing = Standing()


class OptimizerPart(Part):
    """Logs what every optimizer does, and Module.zero_grad()."""

    subject = "Optimizers"

    def __init__(self, lib: Any, log: LogContext, here: Here) -> None:
        super().__init__(lib, log, here)
        self.unwrapped = UnwrappedSteps(self)

    def install(self) -> None:
        self.on = True
        self.step_site: RawSite | None = None
        self._seen: dict[int, _Seen] = {}
        self._count = 0
        self._gone = Gone(MOST_GONE)
        base, module = self.lib.optim.Optimizer, self.lib.nn.Module
        self.patches.set(base, "__init__", self._wrap_init(base.__init__))
        load = self._wrap_load(base.load_state_dict)
        self.patches.set(base, "load_state_dict", load)
        for owner, clear in ((base, self._clear), (module, self._clear_module)):
            wrapped = self._wrap_zero_grad(owner.zero_grad, clear)
            self.patches.set(owner, "zero_grad", wrapped)
        waiting = [base]
        while waiting:
            cls = waiting.pop()
            waiting += cls.__subclasses__()
            if getattr(vars(cls).get("step"), "hooked", False):
                self._wrap_step_of(cls)
        self.unwrapped.install(self.patches)

    def remove(self) -> None:
        super().remove()
        self.unwrapped.end()

    def key(self, optimizer: Any) -> int:
        """Return the number of an optimizer."""
        return self._of(optimizer).row.key

    def call(self, optimizer: Any, name: str) -> None:
        """Note the name that the program has for an optimizer."""
        seen = self._seen.get(id(optimizer))
        if seen is not None:
            seen.row.name = name

    # ---- init -----------------------------------------------------------------------

    def _wrap_init(self, original: Anything) -> Anything:
        @unseen
        @functools.wraps(original)
        def init(optimizer: Any, params: Any, *args: Any, **kwargs: Any) -> None:
            __tracebackhide__ = True
            if not self.on:
                original(optimizer, params, *args, **kwargs)
                return
            if hasattr(params, "__next__"):
                params = list(params)  # as the original does: it can be read once
            try:
                original(optimizer, params, *args, **kwargs)
            except Exception as error:
                self.try_(self._refused, optimizer, params, error)
                raise
            self.try_(self._made, optimizer)

        return init

    def _refused(self, optimizer: Any, params: Any, error: Exception) -> None:
        given = params if isinstance(params, list | tuple) else []
        tensors: list[Any] = []
        for each in given:
            inside: Any = each.get("params") if isinstance(each, dict) else [each]
            tensors += inside if isinstance(inside, list | tuple) else [inside]
        log = self.log
        log.pause()
        try:
            found = [log.value(t) for t in tensors if isinstance(t, self.lib.Tensor)]
        finally:
            log.resume()
        log.append(
            Call(
                index=0,
                site=log.site(),
                stack=log.stack(),
                thread=get_ident(),
                op=type(optimizer).__name__,
                inputs=tuple(found),
                error=f"{type(error).__name__}: {error}",
            )
        )

    def _made(self, optimizer: Any) -> None:
        cls = type(optimizer)
        step = vars(cls).get("step")
        if step is not None and not hasattr(step, "gradviz"):
            self._wrap_step_of(cls)
        self.log.pause()
        try:
            seen = self._of(optimizer)
            states = self._states(seen)
        finally:
            self.log.resume()
        seen.row.made = self._append("init", seen, states)

    def _append(
        self,
        what: Literal["init", "load", "refused"],
        seen: _Seen,
        states: States = (),
        given: tuple[int, ...] = (),
    ) -> int:
        optimizer = seen.reference()
        return self.log.append(
            OptimizerCall(
                index=0,
                site=self.log.site(),
                stack=self.log.stack(),
                thread=get_ident(),
                what=what,
                optimizer=seen.row.key,
                states=tuple([ParameterState(*each) for each in states]),
                sizes=() if optimizer is None else _sizes(optimizer.param_groups),
                given=given,
            )
        )

    # ---- load_state_dict ------------------------------------------------------------

    def _wrap_load(self, original: Anything) -> Anything:
        @unseen
        @functools.wraps(original)
        def load_state_dict(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            try:
                result = original(optimizer, *args, **kwargs)
            except Exception:
                self.try_(self._load_refused, optimizer, *args, *kwargs.values())
                raise
            if self.on:
                self.try_(self._loaded, optimizer)
            return result

        return load_state_dict

    def _load_refused(self, optimizer: Any, state: Any) -> None:
        groups = state.get("param_groups") if isinstance(state, dict) else None
        if isinstance(groups, list) and all("params" in each for each in groups):
            self._append("refused", self._of(optimizer), given=_sizes(groups))

    def _loaded(self, optimizer: Any) -> None:
        self.log.pause()
        try:
            seen = self._of(optimizer)
            self._append("load", seen, self._states(seen))
        finally:
            self.log.resume()

    # ---- parameters -----------------------------------------------------------------

    def _of(self, optimizer: Any) -> _Seen:
        """Return what is known of an optimizer, with the parameters it has now."""
        seen = self._seen.get(id(optimizer))
        if seen is None or seen.reference() is not optimizer:
            row = self._wrapped_by(optimizer) or self._row(optimizer)
            seen = self._seen[id(optimizer)] = _Seen(row)
            forget = functools.partial(self._forget, id(optimizer))
            seen.reference = weakref.ref(optimizer, forget)
        groups, before = optimizer.param_groups, seen.params
        first = groups[0]["params"]
        count = len(first)
        if len(groups) > 1:
            count = sum(_sizes(groups))
            first = next((g["params"] for g in groups if g["params"]), first)
        if (
            not before
            or len(before) != count
            or before[0] is not first[0]
            or before[len(first) - 1] is not first[-1]
        ):
            seen.params = [param for group in groups for param in group["params"]]
            seen.row.tensors = tuple([self.log.tensor(param) for param in seen.params])
            seen.row.maximizes = any(bool(each.get("maximize")) for each in groups)
            seen.row.momentum = any(bool(each.get("momentum")) for each in groups)
            seen.needs = []
        return seen

    def _row(self, optimizer: Any) -> Optimizer:
        self._count += 1
        kind, site = type(optimizer).__name__, self.log.site()
        row = Optimizer(self._count, kind, site, (), self.log.next_index)
        optimizers = self.log.program.optimizers
        living = {seen.row.key for seen in [*self._seen.values()]}  # wrappers share
        for key in self._gone.too_many():
            if key not in living:
                optimizers.pop(key, None)
        optimizers[row.key] = row
        return row

    def _wrapped_by(self, optimizer: Any) -> Optimizer | None:
        """Return the optimizer whose groups this one shares, as a wrapper does."""
        first = optimizer.param_groups[0]
        for seen in [*self._seen.values()]:  # other threads may make optimizers
            other = seen.reference()
            if other is not None and any(g is first for g in other.param_groups[:1]):
                return seen.row
        return None

    def _forget(self, key: int, gone: Any) -> None:
        if key in self._seen and self._seen[key].reference is gone:
            self._gone.add(self._seen.pop(key).row.key)

    def _states(self, seen: _Seen) -> States:
        """Return a row per parameter: the last ones, where nothing has changed."""
        if self.log.looks:
            return self._scanned(seen)
        has, needs = self.log.gradients(seen.params)
        if has != seen.has or needs != seen.needs:
            seen.has, seen.needs = has, needs
            seen.states = tuple(zip(seen.row.tensors, has, needs, strict=True))
        return seen.states

    def _scanned(self, seen: _Seen) -> States:
        found: list[tuple[Any, ...]] = []
        is_opaque, strided = self.log.is_opaque, self.lib.strided
        with probing(), self.log.unheard():
            for param, key in zip(seen.params, seen.row.tensors, strict=True):
                gradient, zero, bad = param.grad, None, 0
                has = gradient is not None
                if has and not is_opaque(gradient) and gradient.layout is strided:
                    zero, bad = _zero_and_bad(self.lib, gradient.detach())
                found.append((key, has, param.requires_grad, zero, bad))
        return tuple(found)

    def _note(
        self,
        what: Literal["step", "zero_grad"],
        site: RawSite | None,
        seen: _Seen | None,
        states: States,
    ) -> int:
        key, thread = 0 if seen is None else seen.row.key, self.here.now.thread
        return self.log.note("optimizer", site, thread, what, key, states)

    # ---- step -----------------------------------------------------------------------

    def _wrap_step_of(self, cls: Any) -> None:
        original: Anything = vars(cls)["step"]
        theirs = not self.log.user_files[inspect.unwrap(original).__code__.co_filename]
        log, here = self.log, self.here

        @unseen
        @functools.wraps(original)
        def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if not self.on or here.now.stepping is not None:
                return original(optimizer, *args, **kwargs)
            alone = theirs and not args and not kwargs  # no closure runs in between
            log.pause()
            begun = self.try_(self.begin_step, optimizer, theirs)
            if not alone:
                log.resume()
            try:
                return original(optimizer, *args, **kwargs)
            finally:
                here.now.stepping = None
                if not alone:
                    log.pause()
                if begun is not None:
                    self.try_(self.end_step, *begun)
                log.resume()

        step.gradviz = True  # type: ignore[attr-defined]
        self.patches.set(cls, "step", step)

    def begin_step(
        self, optimizer: Any, theirs: bool
    ) -> tuple[_Seen, list[int]] | None:
        """Log that a step begins; return what its end needs to log the writes."""
        seen = self._of(optimizer)
        self.step_site = site = self.log.site()
        number = self._note("step", site, seen, self._states(seen))
        self.here.now.stepping = number
        measured = theirs and self.log.looks
        waited = seen.steps >= seen.measured + _FRESH
        measured = measured and (seen.steps < _MEASURED or waited)
        asked = self.log.program.updates is not None
        if measured and (asked or any(map(is_narrow, seen.params))):
            groups, keys = optimizer.param_groups, seen.row.tensors
            weights = WeightsBefore(self.lib, self.log, groups, keys)
            seen.weights, seen.measured = (number, weights), seen.steps
        return (seen, self.log.versions(seen.params)) if theirs else None

    def end_step(self, seen: _Seen, before: list[int]) -> None:
        """Log the writes of a library's step as one call, at the user's line."""
        now = self.log.versions(seen.params)
        updates = self.log.program.updates
        if seen.weights is not None:
            (number, weights), seen.weights = seen.weights, None
            changes = weights.changes(seen.row.pushed, seen.standing)
            if updates is not None:
                updates[number] = changes
        written = list(map(ne, now, before))
        if written != seen.written or not seen.steps % _FRESH:
            values = [self.log.glance(each) for each in compress(seen.params, written)]
            seen.written, seen.values = written, tuple(values)
        seen.steps += 1
        self.log.note(
            "step",
            self.step_site,
            get_ident(),
            seen.values,
            tuple(compress(before, written)),
            tuple(compress(now, written)),
        )

    # ---- zero_grad ------------------------------------------------------------------

    def _wrap_zero_grad(self, original: Anything, clear: Anything) -> Anything:
        log = self.log

        @unseen
        @functools.wraps(original)
        def zero_grad(owner: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if not self.on:
                return original(owner, *args, **kwargs)
            log.pause()
            try:
                self.try_(clear, owner)
                return original(owner, *args, **kwargs)
            finally:
                log.resume()

        return zero_grad

    def _clear(self, optimizer: Any) -> None:
        seen, log = self._of(optimizer), self.log
        thread, key, states = self.here.now.thread, seen.row.key, self._states(seen)
        log.note("optimizer", log.site(), thread, "zero_grad", key, states)

    def _clear_module(self, module: Any) -> None:
        states = [
            (self.log.tensor(p), p.grad is not None, p.requires_grad)
            for p in module.parameters()
        ]
        self._note("zero_grad", self.log.site(), None, tuple(states))


def _zero_and_bad(lib: Any, values: Any) -> tuple[bool, int]:
    """Tell whether all values are 0, and how many of them are NaN or Inf.

    A norm that is neither says so at a tenth of the cost.
    """
    if 0 < float(lib.linalg.vector_norm(values)) < math.inf:
        return False, 0
    return not bool(values.any()), int((~lib.isfinite(values)).sum())


# ---- steps that reach an optimizer past the wrapper ----------------------------------


class UnwrappedSteps:
    """Follows, by hooks, optimizers that hold a ``step`` of their own.

    A scheduler puts the step of the class, as it is then, on the optimizer itself. One
    made before the log began has the step without the log's wrapper.
    """

    def __init__(self, part: OptimizerPart) -> None:
        self._part = part

    def install(self, patches: Patches) -> None:
        """Put the hooks on."""
        part = self._part
        optim = importlib.import_module(f"{part.lib.__package__}.optim.optimizer")
        here = part.here

        # Each step of each optimizer comes by: those that are logged already go first.
        @unseen
        def before(optimizer: Any, args: Any, kwargs: Any) -> None:
            if here.now.running:
                self._unwind()
            if here.now.stepping is None and part.on:
                self._before(optimizer, _is_given(args, kwargs))

        @unseen
        def after(optimizer: Any, args: Any, kwargs: Any) -> None:
            if here.now.running:
                self._after()

        patches.hook(optim.register_optimizer_step_pre_hook, before)
        patches.hook(optim.register_optimizer_step_post_hook, after)

    def end(self) -> None:
        """End a step that still runs as the hooks are taken off."""
        if self._part.here.now.running:
            self._unwind()

    def _before(self, optimizer: Any, closure: bool) -> None:
        part = self._part
        part.log.pause()
        begun = part.try_(part.begin_step, optimizer, True)
        part.here.now.running.append((begun, not closure))
        if closure:  # which runs in between
            part.log.resume()

    def _after(self) -> None:
        part, now = self._part, self._part.here.now
        begun, paused = now.running.pop()
        now.stepping = None
        if not paused:
            part.log.pause()
        if begun is not None:
            part.try_(part.end_step, *begun)
        part.log.resume()

    def _unwind(self) -> None:
        """End a step that raised: nobody said so."""
        now = self._part.here.now
        _, paused = now.running.pop()
        now.stepping = None
        if paused:
            self._part.log.resume()


def _sizes(groups: list[Any]) -> tuple[int, ...]:
    """Return how many parameters each group of an optimizer, or of its state, has."""
    return tuple([len(group["params"]) for group in groups])


def _is_given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether a step was given a closure; the first argument is the optimizer."""
    return any(each is not None for each in (*args[1:], *kwargs.values()))
