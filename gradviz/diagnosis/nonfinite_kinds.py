"""What kind of mistake gave birth to a NaN or Inf: each birth has one kind."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from gradviz.dependence.op_families import (
    Family,
    function_of,
    numbers_in,
    of_node,
    of_op,
    plain,
)
from gradviz.diagnosis.gradient_flow import magnitude
from gradviz.diagnosis.nonfinite import Birth, births
from gradviz.program import Call, History, NodeRun, Optimizer

Kind: TypeAlias = Literal[
    "branch", "root", "pairwise", "angle", "spread", "power", "division", "log", "exp",
    "masked", "data", "half", "growth", "diverged", "other",
]  # fmt: skip

_SELECTS = (
    "where masked_fill masked_select masked_scatter index clamp clamp_min clamp_max "
    "maximum minimum take gather index_select"
)

_MEANS = ("mean", "nanmean", "cross_entropy", "nll_loss")

_KINDS: dict[Family, Kind] = {
    "log": "log", "exp": "exp", "division": "division", "angle": "angle",
    "spread": "spread", "softmax": "masked",
}  # fmt: skip
_REPEATS = 5
"""So many calls in one line before an overflow make it one of repeated growth."""


_RUNAWAY = 1e6
"""A parameter that has grown by this factor was thrown there by its steps."""


def of_kind(history: History, kind: Kind) -> list[Birth]:
    """Return the births of a kind that are worth a word, in order.

    Quiet: values that a later op made finite again (of float16, unless all became 0),
    chosen values that never became NaN, results nobody differentiates, what the program
    itself tests for, and what spoiled parameters once more.
    """
    late = history.once(_too_late)
    return [
        birth
        for birth in births(history)
        if birth not in late
        and history.once(_kinds)[birth] == kind
        and (_counts(birth) or (kind == "half" and birth.vanished is not None))
    ]


def _too_late(history: History) -> set[Birth]:
    """Return the births that wrote into parameters which another had spoiled before."""
    spoiled: dict[int, int] = {}  # since which event
    found = set[Birth]()
    for birth in births(history):
        event = birth.call or birth.backward or birth.root
        begun = 0 if event is None else event.index
        if birth.parameters and all(
            spoiled.get(each, begun) < begun for each in birth.parameters
        ):
            found.add(birth)
        if birth.poisoned is not None:
            for each in birth.parameters:
                spoiled.setdefault(each, birth.poisoned.index)
    return found


def _counts(birth: Birth) -> bool:
    if birth.hurts:
        return True
    if birth.turned_nan is None and (birth.how == "data" or _is_inner_mask(birth)):
        return False
    return birth.stays and not birth.guarded


def _kinds(history: History) -> dict[Birth, Kind]:
    return {birth: _kind(history, birth) for birth in births(history)}


def _kind(history: History, birth: Birth) -> Kind:
    if birth.how == "derivative":
        return _of_derivative(history, birth)
    if _fully_masked(birth):
        return "masked"
    if birth.is_lost and runaway(history, birth) is not None:
        return "diverged"
    if birth.how == "data":
        return "other" if _is_mask(birth) else "data"
    return _of_call(history, birth)


# ---- forward ------------------------------------------------------------------------


def _of_call(history: History, birth: Birth) -> Kind:
    call = birth.call
    assert call is not None
    family = of_op(call.op)
    if any(0 in value.shape for value in call.inputs) and family != "spread":
        return "division"
    if plain(call.op) in _MEANS and not birth.is_nan:
        return _of_overflow(history, birth)  # of the sum: there are elements
    if family == "root":
        return _of_power(history, birth)
    return _KINDS.get(family) or _of_overflow(history, birth)


def _of_power(history: History, birth: Birth) -> Kind:
    """Tell a root of a negative number, a power of 0 below 0 and an overflow apart."""
    call = birth.call
    assert call is not None
    if birth.is_nan:
        return "power"
    lowest = lowest_of(call)
    below = plain(call.op) == "rsqrt" or any(each < 0 for each in numbers_in(call))
    if below and lowest is not None and lowest <= 0:
        return "division"
    return _of_overflow(history, birth)


def lowest_of(call: Call) -> float | None:
    """Return the least finite value among a call's operands."""
    found = [
        each.summary.minimum
        for each in call.inputs
        if each.summary is not None and each.summary.minimum is not None
    ]
    return min(found, default=None)


def _of_overflow(history: History, birth: Birth) -> Kind:
    half = birth.value is not None and birth.value.dtype == "float16"
    if half and not birth.is_nan:
        return "half"
    if runaway(history, birth) is not None:
        return "diverged"
    return "growth" if not birth.is_nan and _repeats(history, birth) else "other"


def runaway(history: History, birth: Birth) -> Optimizer | None:
    """Return the optimizer whose parameters had grown without bound before a birth."""
    event = birth.call or birth.turned_nan or birth.root
    end = 0 if event is None else event.index
    for optimizer in history.program.optimizers.values():
        for tensor in optimizer.tensors:
            sizes = [
                size
                for call in history.uses(tensor)
                if optimizer.made <= call.index <= end
                for value in call.inputs
                if value.tensor == tensor
                if (size := magnitude(value.summary)) is not None
            ]
            if sizes and sizes[-1] > _RUNAWAY * max(sizes[0], 1.0):
                return optimizer
    return None


def _repeats(history: History, birth: Birth) -> bool:
    """Tell whether the line had run several times, with ever larger values."""
    if birth.call is None:
        return False
    sizes = [
        largest
        for each in _runs_before(history, birth.call)
        for value in each.outputs[:1]
        if (largest := magnitude(value.summary)) is not None
    ]
    return len(sizes) >= _REPEATS and sizes[-1] > 1e3 * max(sizes[0], 1e-30)


def _runs_before(history: History, call: Call) -> list[Call]:
    """Return the earlier runs of a call's line and operation."""
    return [
        each
        for each in history.calls
        if each.index < call.index and each.site == call.site and each.op == call.op
    ]


def _fully_masked(birth: Birth) -> bool:
    """Tell whether a softmax met rows that are nothing but -inf."""
    call = birth.turned_nan
    if call is None or of_op(call.op) != "softmax":
        return False
    nans = sum(each.summary.nans for each in call.outputs if each.summary)
    infs = max((each.summary.infs for each in call.inputs if each.summary), default=0)
    if birth.how == "data":
        return True
    log_of_mask = birth.call is not None and of_op(birth.call.op) == "log"
    return log_of_mask and 0 < nans <= infs


def _is_inner_mask(birth: Birth) -> bool:
    """Tell whether attention filled a mask of its own with -inf, as it is meant to."""
    call = birth.call
    return call is not None and of_op(call.op) == "softmax" and not birth.is_nan


def _is_mask(birth: Birth) -> bool:
    """Tell whether an Inf was put there on purpose, and an op made a NaN of it."""
    if not birth.chosen or birth.is_nan or birth.turned_nan is None:
        return False
    assert birth.call is not None
    fills = plain(birth.call.op) in ("masked_fill", "where")
    return fills or -math.inf in numbers_in(birth.call)


# ---- backward -----------------------------------------------------------------------


def _of_derivative(history: History, birth: Birth) -> Kind:
    assert birth.node is not None
    family = "other" if birth.node.custom is not None else of_node(birth.node.name)
    if family == "root" and _has_finite_slope(birth.call):
        family = "product"
    if family in ("root", "norm") and on_diagonal(birth):
        return "pairwise"
    if selected_away(history, birth) is not None:
        return "branch"
    if family in ("root", "norm"):
        return "root"
    if family in _KINDS:
        return _KINDS[family]
    call = birth.call
    if call is not None and any(each.dtype == "float16" for each in call.outputs):
        return "half"
    if runaway(history, birth) is not None:
        return "diverged"
    if family != "product":
        return "other"
    recurs = call is None or len(_runs_before(history, call)) >= _REPEATS
    return "growth" if recurs else "other"


def _has_finite_slope(call: Call | None) -> bool:
    """Tell whether a power has one everywhere: `x ** 2` has, `x ** 0.5` has not at 0.

    PyTorch's backward function is that of a power for both, and for `square`.
    """
    if call is None or plain(call.op) != "pow":
        return call is not None and of_op(call.op) == "product"
    known = [each.summary for each in call.inputs[1:] if each.summary is not None]
    lowest = [each.minimum for each in known if each.minimum is not None]
    return min([*numbers_in(call), *lowest], default=0.0) >= 1


def on_diagonal(birth: Birth) -> bool:
    """Tell whether the bad gradients lie on the diagonal of a square of distances."""
    assert birth.run is not None
    shape = birth.node.shape if birth.node is not None else None
    if shape is None and birth.call is not None and birth.call.outputs:
        shape = birth.call.outputs[0].shape
    bad = [each for each in birth.run.outgoing if each is not None and each.bad]
    index = bad[0].first_bad if bad else None
    return (
        shape is not None
        and index is not None
        and len(shape) == len(index) >= 2
        and shape[-1] == shape[-2] > 1
        and index[-1] == index[-2]
        and bad[0].bad >= shape[-1]
    )


def selected_away(history: History, birth: Birth) -> int | None:
    """Return the selecting node that gave a derivative a gradient of 0, if any did.

    0 times an infinite derivative is NaN, and the 0 is that of a branch or element
    that was not taken. Where the result goes to the loss on another way too, that one
    would have given its gradient: the 0 is none of the selection's.
    """
    run, event = birth.run, birth.backward
    assert run is not None
    assert birth.node is not None
    assert event is not None
    nans = sum(each.nans for each in run.outgoing if each is not None)
    zeros = sum(each.zeros for each in run.incoming if each is not None)
    if not nans or not zeros:
        return None
    above = _users(history, event.nodes or tuple(each.node for each in event.runs))
    waiting, seen, selecting = [birth.node.key], set[int](), list[int]()
    while waiting:
        users = above.get(waiting.pop(), ())
        if not users:
            return None
        for user in users:
            node = history.node(user)
            if node is None or user in seen:
                continue
            seen.add(user)
            selects = function_of(node.name) in _SELECTS.split()
            (selecting if selects else waiting).append(user)
    zeroing = {each.node for each in event.runs if _gives_zeros(each)}
    return next((each for each in selecting if each in zeroing), None)


def _gives_zeros(run: NodeRun) -> bool:
    """Tell whether a node gave more gradients of 0 than it got: it chose others."""
    got, gave = (
        sum(each.zeros for each in some if each is not None)
        for some in (run.incoming, run.outgoing)
    )
    return gave > got


def _users(history: History, nodes: tuple[int, ...]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for key in nodes:
        node = history.node(key)
        for edge in node.next if node is not None else ():
            if edge is not None:
                found.setdefault(edge[0], []).append(key)
    return found
