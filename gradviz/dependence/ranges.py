"""Ranges: between which numbers a value must lie, whatever the parameters are.

Interval arithmetic over the calls of a run: parameters may take any value, data those
that were seen, and every operation gives what its definition allows. An op that is not
known gives anything. Moore, Kearfott and Cloud, *Introduction to Interval Analysis*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf, isnan, prod
from typing import NamedTuple, TypeAlias

from gradviz.dependence.flow import name_of, words
from gradviz.dependence.op_families import plain
from gradviz.dependence.terms import latest
from gradviz.program import Call, History, Value


class Range(NamedTuple):
    """A closed interval; an end that is infinite is not bounded."""

    low: float
    high: float

    def __neg__(self) -> Range:
        return Range(-self.high, -self.low)

    def plus(self, other: Range) -> Range:
        """Return where the sum lies."""
        return Range(self.low + other.low, self.high + other.high)

    def times(self, other: Range) -> Range:
        """Return where the product lies; an end times 0 is 0."""
        ends = [_product(one, two) for one in self for two in other]
        return Range(min(ends), max(ends))

    def within(self, low: float, high: float) -> Range:
        """Return it cut to an interval, as `clamp` does."""
        return Range(*(min(max(end, low), high) for end in self))


ANYTHING = Range(-inf, inf)
POSITIVE = Range(0.0, inf)
SHARE = Range(0.0, 1.0)

Operands: TypeAlias = list[Range]

_FIXED: dict[str, Range] = {
    name: found
    for found, names in (
        (SHARE, ("sigmoid hardsigmoid softmax softmin gumbel_softmax bernoulli rand "
            "rand_like")),
        (Range(-1.0, 1.0), "tanh hardtanh softsign sin cos cosine_similarity erf"),
        (Range(-inf, 0.0), "log_softmax logsigmoid log_sigmoid"),
        (POSITIVE, ("softplus exp norm vector_norm linalg_vector_norm linalg_norm std "
            "var square relu6 cdist pairwise_distance dist mse_loss l1_loss "
            "smooth_l1_loss huber_loss cross_entropy cross_entropy_loss "
            "triplet_margin_loss margin_ranking_loss hinge_embedding_loss "
            "cosine_embedding_loss soft_margin_loss multi_margin_loss ctc_loss")),
    )
    for name in names.split()
}  # fmt: skip
"""What an op gives whatever it is given."""

_SAME = words(
    "view reshape flatten unflatten ravel squeeze unsqueeze transpose permute t T mT "
    "movedim swapaxes expand expand_as repeat repeat_interleave contiguous clone "
    "detach data alias to float double half bfloat16 type cpu cuda getitem select "
    "narrow index_select gather take diagonal diag unfold chunk split unbind mean amax "
    "amin median quantile nanmean avg_pool1d avg_pool2d max_pool1d max_pool2d tile "
    "adaptive_avg_pool2d flip roll sort topk masked_select view_as reshape_as"
)
"""What gives elements, or averages, of its first operand."""

_UNION = words("cat concat stack hstack vstack max min where")
"""What gives elements of several operands."""

_EACH = words("broadcast_tensors meshgrid atleast_1d atleast_2d atleast_3d")
"""What gives elements of each operand in a result of its own."""


def _product(one: float, other: float) -> float:
    return 0.0 if 0 in (one, other) else one * other


class Ranges:
    """The ranges of a run's values, each found once when it is asked for.

    >>> import gradtape as torch
    >>> from gradviz._capture.open_log import open_log
    >>> from gradviz.program import History
    >>> w = torch.ones(2, requires_grad=True)
    >>> with open_log("gradtape") as log:
    ...     loss = -(w * 2).square().mean()
    >>> history = History(log.program)
    >>> made = history.calls[-1]
    >>> history.once(Ranges).of(made.outputs[0], made.index + 1)
    Range(low=-inf, high=-0.0)
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._known: dict[tuple[int, int], Range] = {}

    def of(self, value: Value, before: int) -> Range:
        """Return where the elements of a value lie, as it was before an event."""
        for call, made in self._unknown(value, before):
            self._known[call.index, made.tensor] = self._result(call, made)
        return self._at(value, before)

    def _at(self, value: Value, before: int) -> Range:
        made = latest(self._history, value, before)
        return _seen(value) if made is None else self._known[made.index, value.tensor]

    def _unknown(self, value: Value, before: int) -> list[tuple[Call, Value]]:
        """Return what has to be worked out for a value, in the order of time."""
        found: dict[tuple[int, int], tuple[Call, Value]] = {}
        waiting = [(value, before)]
        while waiting:
            each, index = waiting.pop()
            call = latest(self._history, each, index)
            key = (-1 if call is None else call.index), each.tensor
            if call is not None and key not in self._known and key not in found:
                found[key] = call, each
                if _is_read(call, each):
                    given = _given(call)
                    waiting += [(v, call.index) for v in given if isinstance(v, Value)]
        return [found[key] for key in sorted(found)]

    def _result(self, call: Call, value: Value) -> Range:
        name = plain(name_of(call))
        if not _learns(call, value):
            return _seen(value)  # nothing that learns went in: data
        if name in _FIXED:
            return _FIXED[name]
        if not _is_read(call, value):
            return ANYTHING
        if _is_log_of_softmax(self._history, call):
            return Range(-inf, 0.0)
        operands = [
            self._at(each, call.index) if isinstance(each, Value) else Range(each, each)
            for each in _given(call)
        ]
        if name in _SAME:
            return _around(operands[:1])
        if name in _EACH:
            place = [each.tensor for each in call.outputs].index(value.tensor)
            return _around(operands[place : place + 1])
        if name in _UNION:
            return _around(operands[1:] if name == "where" else operands)
        return _sane(_OPS[name](call, operands))


def _learns(call: Call, value: Value) -> bool:
    return any(each.requires_grad for each in (*call.inputs, value))


def _is_read(call: Call, value: Value) -> bool:
    """Tell whether the range of a result follows from those of the operands."""
    name = plain(name_of(call))
    if name in _FIXED or not _learns(call, value):
        return False
    return name in _SAME | _EACH or (
        len(call.outputs) == 1 and (name in _UNION or name in _OPS)
    )


def _given(call: Call) -> list[Value | float]:
    """Return the tensors and numbers of a call, those in lists too, in order."""
    found: list[Value | float] = []
    for each in call.arguments:
        for one in each if isinstance(each, list | tuple) else (each,):  # pyright: ignore[reportUnknownVariableType]
            if isinstance(one, Value | int | float) and not isinstance(one, bool):
                found.append(one)
    return found


def _seen(value: Value) -> Range:
    """Return where data lies; a leaf that learns may become anything."""
    found = value.summary
    if value.requires_grad or found is None or found.bad:
        return ANYTHING
    if found.minimum is None or found.maximum is None:
        return ANYTHING
    return Range(found.minimum, found.maximum)


def _around(operands: Iterable[Range]) -> Range:
    found = list(operands)
    if not found:
        return ANYTHING
    return Range(min(each.low for each in found), max(each.high for each in found))


def _sane(found: Range) -> Range:
    return ANYTHING if isnan(found.low) or isnan(found.high) else found


def _is_log_of_softmax(history: History, call: Call) -> bool:
    """Tell whether a difference is ``x - logsumexp(x)``, which is never above 0."""
    if plain(name_of(call)) not in ("sub", "subtract") or len(call.inputs) < 2:
        return False
    taken = history.producer(call.inputs[1], call.index)
    return (
        taken is not None
        and name_of(taken) == "logsumexp"
        and bool(taken.inputs)
        and taken.inputs[0].tensor == call.inputs[0].tensor
    )


# ---- what each op does to the ranges of its operands ---------------------------------


def _alpha(call: Call) -> Range:
    given = call.keywords.get("alpha", 1.0)
    scale = float(given) if isinstance(given, int | float) else 1.0
    return Range(scale, scale)


def _add(call: Call, operands: Operands) -> Range:
    return _two(operands, lambda one, two: one.plus(two.times(_alpha(call))))


def _sub(call: Call, operands: Operands) -> Range:
    return _two(operands, lambda one, two: one.plus((-two).times(_alpha(call))))


def _rsub(call: Call, operands: Operands) -> Range:
    return _sub(call, operands[1::-1])


def _mul(call: Call, operands: Operands) -> Range:
    one, two = ([*call.inputs, None, None])[:2]
    if one is not None and two is not None and one.tensor == two.tensor:
        return _squared(operands[0])
    return _two(operands, Range.times)


def _div(_: Call, operands: Operands) -> Range:
    return _two(operands, lambda one, two: one.times(_inverse(two)))


def _rdiv(call: Call, operands: Operands) -> Range:
    return _div(call, operands[1::-1])


def _two(operands: Operands, how: Callable[[Range, Range], Range]) -> Range:
    return how(*operands) if len(operands) == 2 else ANYTHING


def _inverse(divisor: Range) -> Range:
    if divisor.low >= 0:
        return Range(
            0.0 if divisor.high == inf else 1 / (divisor.high or 1e-300),
            1 / divisor.low if divisor.low else inf,
        )
    return -_inverse(-divisor) if divisor.high <= 0 else ANYTHING


def _squared(base: Range) -> Range:
    ends = [_product(end, end) for end in base]
    return Range(0.0 if base.low <= 0 <= base.high else min(ends), max(ends))


def _pow(_: Call, operands: Operands) -> Range:
    if len(operands) != 2 or operands[1].low != operands[1].high:
        return ANYTHING
    power = operands[1].low
    if power == 2:
        return _squared(operands[0])
    return POSITIVE if power % 2 == 0 or operands[0].low >= 0 else ANYTHING


def _sum(call: Call, operands: Operands) -> Range:
    if not operands or not call.outputs:
        return ANYTHING
    count = prod(call.inputs[0].shape) / max(1, prod(call.outputs[0].shape))
    return operands[0].times(Range(count, count))


def _log(_: Call, operands: Operands) -> Range:
    """Return it as unbounded below wherever 0 or less is not ruled out."""
    high = operands[0].high if operands else inf
    return Range(-inf, 0.0) if high <= 1 else ANYTHING


def _bce(_: Call, operands: Operands) -> Range:
    """Return it as never negative where the targets are between 0 and 1."""
    fine = len(operands) > 1 and operands[1].low >= 0 and operands[1].high <= 1
    return POSITIVE if fine else ANYTHING


def _clamp(call: Call, operands: Operands) -> Range:
    limits: dict[str, float] = {}
    given = [*call.arguments[1:], None, None]
    for name, place in (("min", 0), ("max", 1)):
        limit = call.keywords.get(name, given[place])
        if isinstance(limit, int | float):
            limits[name] = limit
        elif limit is not None:
            return ANYTHING
    if not operands:
        return ANYTHING
    return operands[0].within(limits.get("min", -inf), limits.get("max", inf))


def _abs(_: Call, operands: Operands) -> Range:
    found = operands[0] if operands else ANYTHING
    return found if found.low >= 0 else Range(0.0, max(-found.low, found.high))


def _relu(_: Call, operands: Operands) -> Range:
    return (operands or [ANYTHING])[0].within(0.0, inf)


def _negated(_: Call, operands: Operands) -> Range:
    return -operands[0] if operands else ANYTHING


def _sign_kept(_: Call, operands: Operands) -> Range:
    """Return a factor of any size that is never negative: dropout, a root."""
    return (operands or [ANYTHING])[0].times(POSITIVE)


def _lesser(_: Call, operands: Operands) -> Range:
    return _two(
        operands, lambda a, b: Range(min(a.low, b.low), min(a.high, b.high))
    )  # fmt: skip


def _greater(_: Call, operands: Operands) -> Range:
    return _two(
        operands, lambda a, b: Range(max(a.low, b.low), max(a.high, b.high))
    )  # fmt: skip


_OPS: dict[str, Callable[[Call, Operands], Range]] = {
    name: how
    for how, names in (
        (_add, "add radd iadd"),
        (_sub, "sub subtract isub"),
        (_rsub, "rsub"),
        (_mul, "mul multiply rmul imul"),
        (_div, "div divide true_divide truediv idiv itruediv"),
        (_rdiv, "rdiv rtruediv"),
        (_pow, "pow float_power"),
        (_sum, "sum nansum"),
        (_log, "log log2 log10"),
        (_negated, "neg negative nll_loss nll_loss_nd"),
        (_bce, "binary_cross_entropy binary_cross_entropy_with_logits"),
        (_clamp, "clamp clip hardtanh"),
        (_abs, "abs absolute"),
        (_relu, "relu threshold"),
        (_sign_kept, "dropout dropout1d dropout2d feature_dropout sqrt"),
        (_lesser, "minimum"),
        (_greater, "maximum"),
    )
    for name in names.split()
}
