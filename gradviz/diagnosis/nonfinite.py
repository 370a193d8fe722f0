"""Where each NaN and Inf of a run was born, and what it did from there on.

One walk over the log, in program order. A *birth* is the first place of a bad value:
a call whose operands were finite, a tensor made from bad data, or a backward function
whose incoming gradients were finite. What comes of it is followed through memory,
losses, gradients and parameters, so that a rule can keep quiet about the many births
that do no harm, such as the ``-inf`` of an attention mask.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Literal

from gradviz.dependence.op_families import is_factory, is_fill, numbers_in, of_op, plain
from gradviz.diagnosis._raised import decides, raises
from gradviz.program import (
    Backward,
    Call,
    History,
    Node,
    NodeRun,
    OptimizerCall,
    RawSite,
    ScalerCall,
    Summary,
    Value,
)

_OF_OTHER_THINGS = re.compile(
    r"\b(sizes?|shapes?|dim\w*|dtypes?|types?|device|index|argument|memory)\b", re.I
)
"""What an error says that was not raised because of a value."""


@dataclass(slots=True, eq=False, kw_only=True)
class Birth:
    """One NaN or Inf that did not come from another one."""

    how: Literal["op", "data", "derivative"]
    site: RawSite | None
    value: Value | None = None  # the first bad tensor
    call: Call | None = None  # of an op or data; of a derivative: its forward call
    chosen: bool = False  # the user wrote this value down: masked_fill(m, -inf)
    node: Node | None = None  # of a derivative
    run: NodeRun | None = None
    backward: Backward | None = None
    # what it did
    turned_nan: Call | None = None  # the first call that made a NaN of an Inf
    vanished: Call | None = None  # that divided by its Inf and gave nothing but zeros
    root: Backward | None = None  # the first pass whose loss it spoiled
    gradient: Backward | None = None  # the first pass whose gradients it spoiled
    poisoned: OptimizerCall | None = None  # the step that wrote it into parameters
    parameters: set[int] = field(default_factory=set[int])
    open: dict[int, Value] = field(default_factory=dict[int, Value])  # not used further
    guarded: bool = False  # the program tests for it and branches
    skipped: bool = False  # a step was taken without it
    scaled: bool = False  # in the gradients of a loss that a loss scaler had scaled
    ended: bool = False  # the program tested for it and raised
    refused: Call | None = None  # that raised, and ended the run

    @property
    def is_nan(self) -> bool:
        """Whether the first bad tensor had a NaN, not only Inf."""
        if self.run is not None:
            return any(each and each.nans for each in self.run.outgoing)
        return bool(self.value and self.value.summary and self.value.summary.nans)

    @property
    def is_lost(self) -> bool:
        """Whether the program wrote it there, in calls that the log has not."""
        written = self.value is not None and self.value.version > 0
        return self.how == "data" and self.call is None and written

    @property
    def hurts(self) -> bool:
        """Whether it reached a loss, a gradient or a parameter."""
        return bool(self.root or self.gradient or self.poisoned)

    @property
    def stays(self) -> bool:
        """Whether a differentiable result ended with it, and nothing made it good."""
        return any(value.requires_grad for value in self.open.values())


def births(history: History) -> list[Birth]:
    """Return all births of a run, in order. Needs a log that scanned values."""
    if not history.program.scanned:
        return []
    return history.once(_walk)


def _walk(history: History) -> list[Birth]:
    walk = _Walk(history)
    for event in history.events:
        if isinstance(event, Call):
            walk.call(event)
        elif isinstance(event, Backward):
            walk.backward(event)
        elif isinstance(event, OptimizerCall):
            walk.optimizer(event)
        elif isinstance(event, ScalerCall):
            walk.scaler(event)
    for birth in walk.births:
        left_out = birth.guarded or birth in walk.cleared
        if walk.stepped and left_out and birth.poisoned is None:
            birth.skipped = True
    return walk.births


class _Walk:
    def __init__(self, history: History) -> None:
        self.history = history
        self.births: list[Birth] = []
        self.in_memory: dict[int, Birth] = {}  # storage -> whose bad values it holds
        self.shrunk: dict[int, Birth] = {}  # tensor -> whose Inf it was divided by
        self.in_gradients: Birth | None = None  # of the last pass
        self.in_pass: list[Birth] = []  # all whose derivatives were bad in it
        self.in_leaves: Birth | None = None  # whose gradients may be in parameters now
        self.stepped = False
        self.put_off: list[Birth] = []  # whose gradients a loss scaler stepped by
        self.cleared: set[Birth] = set()  # whose gradients were cleared, perhaps unused
        self.scaled: set[int] = set()  # tensors that loss scalers returned
        self.known: dict[tuple[int, int], Summary] = {}  # (tensor, version) -> scan

    # ---- forward ------------------------------------------------------------------

    def call(self, call: Call) -> None:
        bad_inputs = [value for value in call.inputs if self.bad(value)]
        results = [*call.outputs, *(write.value for write in call.writes)]
        bad_results = [value for value in results if self.bad(value)]
        if not bad_inputs and _only_moves(call):
            bad_results = []  # of memory around what it wrote: nobody had filled it
        self.overwritten(call)
        if not bad_results:
            # Garbage in new memory is no birth: most ops that read it fill it.
            bad_inputs = [each for each in bad_inputs if each.storage in self.in_memory]
        sources = [self.source(value, call.site) for value in bad_inputs]
        self.used(call, bad_inputs, sources)
        self.refused(call, bad_inputs, sources)
        if not bad_results:
            self.divided(call, sources)
            return
        source = self.cause(call, bad_inputs, bad_results, sources)
        self.in_memory |= {value.storage: source for value in bad_results}
        source.open |= {value.tensor: value for value in bad_results}

    def refused(self, call: Call, bad: list[Value], sources: list[Birth]) -> None:
        """Note that a call raised, and ended the run, because of the NaN it was given.

        As a factorization does, which only says that there is none.
        """
        error = call.error
        if error is None or _OF_OTHER_THINGS.search(error):
            return
        if self.history.ended_by(call):
            for value, source in zip(bad, sources, strict=True):
                if self.nans(value):
                    source.refused = source.refused or call

    def cause(
        self, call: Call, bad: list[Value], results: list[Value], sources: list[Birth]
    ) -> Birth:
        """Return whose values the bad results of a call hold."""
        if call.op in ("grad.get", "step") and self.in_gradients is not None:
            return self.in_gradients
        if not bad:
            if self.in_leaves is not None and call.site in self.history.program.unseen:
                return self.in_leaves  # of the parameters that nobody saw it read
            zeros = (self.shrunk.get(value.tensor) for value in call.inputs)
            return next(filter(None, zeros), None) or self.born(call, _worst(results))
        with_nan = [s for v, s in zip(bad, sources, strict=True) if self.nans(v)]
        source = (with_nan or sources)[0]
        if not with_nan and any(self.nans(value) for value in results):
            source = _likeliest(sources)
            source.turned_nan = source.turned_nan or call
        return source

    def divided(self, call: Call, sources: list[Birth]) -> None:
        """Remember the zeros that came of dividing by Inf: their logarithm is its."""
        computed = [source for source in sources if source.how == "op"]
        divides = of_op(call.op) == "division" or plain(call.op) == "rsqrt"
        for value in call.outputs if divides and computed else ():
            if value.summary is not None and value.summary.zeros:
                self.shrunk[value.tensor] = computed[0]
                if value.requires_grad and value.summary.zeros == value.summary.count:
                    computed[0].vanished = computed[0].vanished or call

    def overwritten(self, call: Call) -> None:
        """Forget what was in memory that a call has filled with good values."""
        for write in call.writes:
            source = self.in_memory.get(write.storage)
            first = source.value if source is not None else None
            if (
                first is not None
                and not self.bad(write.value)
                and math.prod(write.value.shape) >= math.prod(first.shape)
            ):
                del self.in_memory[write.storage]

    def used(self, call: Call, bad: list[Value], sources: list[Birth]) -> None:
        """Note that a call read bad values: they are no longer its birth's end."""
        measures = any(_is_float(value) for value in call.outputs)
        for value, source in zip(bad, sources, strict=True):
            if measures or call.writes:
                source.open.pop(value.tensor, None)
            elif decides(self.history, call):
                source.ended = raises(self.history, call)
                source.guarded = not source.ended

    def born(self, call: Call, value: Value) -> Birth:
        chosen = any(not math.isfinite(number) for number in numbers_in(call))
        data = not call.inputs or is_factory(call.op) or (chosen and is_fill(call.op))
        birth = Birth(
            how="data" if data else "op",
            site=call.site,
            value=value,
            call=call,
            chosen=data and (chosen or not is_factory(call.op)),
        )
        self.births.append(birth)
        return birth

    def source(self, value: Value, site: RawSite | None) -> Birth:
        """Return whose bad values a tensor holds; a new birth if nobody was seen."""
        found = self.in_memory.get(value.storage) or self.learnt(value)
        if found is None:
            facts = self.history.program.tensors.get(value.tensor)
            made = facts.made if facts is not None else None
            found = Birth(how="data", site=made or site, value=value)
            self.births.append(found)
            self.in_memory[value.storage] = found
        return found

    def learnt(self, value: Value) -> Birth | None:
        """Return whose bad values a leaf holds, or what was computed from leaves.

        In a step that was looked at in brief, nobody saw the calls in between.
        """
        leaves = self.in_leaves
        if leaves is None or not value.requires_grad:
            return None
        return leaves if value.is_leaf or leaves.poisoned else None

    # ---- backward -----------------------------------------------------------------

    def backward(self, event: Backward) -> None:
        self.in_gradients, self.in_pass = None, []
        for root in event.roots:
            # Of a step that was told in brief nobody knows where its loss came from.
            if self.bad(root) and (event.whole or root.storage in self.in_memory):
                source = self.source(root, event.site)
                source.open.pop(root.tensor, None)
                if source.poisoned is None:  # later losses are bad by the parameters
                    source.root = source.root or event
                if _spoils(event, self.history):  # the log of -1 is NaN, not its slope
                    self.in_gradients = source
        if self.in_gradients is None and _spoils(event, self.history):
            self.in_gradients = self.derivatives(event)
        if self.in_gradients is not None:
            self.in_leaves = self.in_gradients
            self.in_gradients.gradient = self.in_gradients.gradient or event
            for value in event.results:
                if value is not None and self.bad(value):
                    self.in_memory[value.storage] = self.in_gradients

    def derivatives(self, event: Backward) -> Birth | None:
        """Find the node runs that made NaN or Inf of finite gradients.

        A node whose forward call had read bad values hands on those: 0 * Inf is NaN.
        """
        first: Birth | None = None
        for run in event.runs:
            node = self.history.node(run.node)
            if node is None or not _makes_bad(run):
                continue
            call = self.history.maker(node)
            known = self.read_by(call)
            if known is None:
                known = self.born_in(event, run, node, call)
            known.gradient = known.gradient or event
            self.in_pass.append(known)
            first = first or known
        return first

    def read_by(self, call: Call | None) -> Birth | None:
        """Return whose bad values a call had read, but for those put in on purpose."""
        if call is None:
            return None
        for value in call.inputs:
            if self.bad(value):
                source = self.source(value, call.site)
                if not source.chosen or source.is_nan or source.turned_nan:
                    return source
            elif self.scan(value) is None and (source := self.learnt(value)):
                return source
        return None

    def born_in(
        self, event: Backward, run: NodeRun, node: Node, call: Call | None
    ) -> Birth:
        birth = self.born_in_custom(event, node) or Birth(
            how="derivative",
            site=node.site or (call.site if call is not None else None),
            call=call,
            node=node,
            run=run,
            backward=event,
            scaled=any(root.tensor in self.scaled for root in event.roots),
        )
        self.births.append(birth)
        return birth

    def born_in_custom(self, event: Backward, node: Node) -> Birth | None:
        """Return the birth in a line of the user's own backward function."""
        code = node.custom.backward if node.custom is not None else None
        for call in self.history.calls:
            if code is None or call.index < event.index or call.site is None:
                continue
            bad = [value for value in call.outputs if self.bad(value)]
            good = not any(self.bad(value) for value in call.inputs)
            if call.site[0] is code and bad and good:
                return Birth(
                    how="op", site=call.site, value=bad[0], call=call, backward=event
                )
        return None

    def optimizer(self, event: OptimizerCall) -> None:
        source = self.in_gradients
        if event.what == "zero_grad" and source and source.poisoned is None:
            self.cleared.update((source, *self.in_pass))
        if event.what != "step":
            return
        self.stepped = True
        hurt = {state.tensor for state in event.states if state.bad_grad}
        if source is not None and hurt:
            source.poisoned = source.poisoned or event
            source.parameters |= hurt
            return
        now = [] if source is None else [source, *self.in_pass]
        for each in (*self.put_off, *now):
            each.skipped = each.poisoned is None
        self.put_off.clear()

    def scaler(self, event: ScalerCall) -> None:
        """Remember what a loss scaler may have left out: the next step tells."""
        self.scaled.update(value.tensor for value in event.scaled)
        if event.what == "step" and self.in_gradients is not None:
            self.put_off += [self.in_gradients, *self.in_pass]

    # ---- values -------------------------------------------------------------------

    def scan(self, value: Value) -> Summary | None:
        key = value.tensor, value.version
        if value.summary is not None:
            self.known[key] = value.summary
            return value.summary
        return self.known.get(key)

    def bad(self, value: Value) -> bool:
        summary = self.scan(value)
        return summary is not None and summary.bad > 0

    def nans(self, value: Value) -> bool:
        summary = self.scan(value)
        return summary is not None and summary.nans > 0


def _spoils(event: Backward, history: History) -> bool:
    """Tell whether a NaN or Inf came out of a backward pass, not only by it."""
    if any(each and each.summary and each.summary.bad for each in event.results):
        return True
    leaves = [run for run in event.runs if _is_leaf(history, run)]
    if not leaves:
        return event.api == "backward" or not event.results
    return any(each and each.bad for run in leaves for each in run.incoming)


def _makes_bad(run: NodeRun) -> bool:
    """Tell whether a node got finite gradients and returned others."""
    return any(each and each.bad for each in run.outgoing) and not any(
        each and each.bad for each in run.incoming
    )


def _is_leaf(history: History, run: NodeRun) -> bool:
    node = history.node(run.node)
    return node is not None and node.name.startswith("AccumulateGrad")


def _only_moves(call: Call) -> bool:
    """Tell whether a call put finite elements somewhere, as they are."""
    moves = plain(call.op) in ("setitem", "copy", "index_copy", "index_put")
    finite = all(map(math.isfinite, numbers_in(call)))
    alike = len({value.dtype for value in call.inputs if _is_float(value)}) == 1
    return moves and bool(call.writes) and finite and alike


def _worst(values: list[Value]) -> Value:
    """Return the tensor with a NaN, else the first."""
    with_nan = [each for each in values if each.summary and each.summary.nans]
    return (with_nan or values)[0]


def _likeliest(sources: list[Birth]) -> Birth:
    """Of several sources of Inf prefer what was computed: masks have Inf on purpose."""
    computed = [source for source in sources if not source.chosen]
    return (computed or sources)[0]


def _is_float(value: Value) -> bool:
    return value.dtype.startswith(("float", "bfloat", "complex"))
