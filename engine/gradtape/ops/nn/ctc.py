"""The loss of connectionist temporal classification: all alignments at once.

States of a sample are its labels with blanks around each; both recursions run over
time, for all samples and states together, in logarithms.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..._dispatch.declare import Array, op
from .._support.matrix_product import scalar_name
from .._support.operands import UNDERIVED, hidden_op, underived

Lengths = tuple[int, ...]
_CHECKING = "(while checking arguments for ctc_loss_allocate_outputs)"


class _States(NamedTuple):
    """The states of every sample: (N, 2 * longest + 1)."""

    labels: Any
    skips: Any  # whether the blank before a state may be left out
    last: Any  # (N,) the last state of each sample


def _states(xp: Any, targets: Any, lengths: Lengths, blank: int) -> _States:
    count = max(lengths, default=0)
    labels = xp.full((len(lengths), 2 * count + 1), blank, "int64")
    flat, offset = targets.ndim == 1, 0
    for row, length in enumerate(lengths):
        own = targets[offset : offset + length] if flat else targets[row, :length]
        labels[row, 1 : 2 * length : 2] = own
        offset += length
    skips = xp.zeros(labels.shape, "bool")
    skips[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return _States(labels, skips, xp.asarray([2 * n for n in lengths]))


def _check(
    log_probs: Any, targets: Any, ends: Lengths, lengths: Lengths, blank: int
) -> None:
    time, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, given in (("input_lengths", ends), ("target_lengths", lengths)):
        if len(given) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    for name, given in (("target_lengths", lengths), ("input_lengths", ends)):
        if min(given, default=0) < 0:
            raise RuntimeError(
                f"Expected {name} to have value at least 0, but got value "
                f"{min(given)} {_CHECKING}"
            )
    if targets.ndim == 1 and targets.shape[0] != sum(lengths):
        raise RuntimeError(
            f"Expected tensor to have size {sum(lengths)} at dimension 0, but got size "
            f"{targets.shape[0]} for argument #2 'targets' {_CHECKING}"
        )
    if targets.ndim == 2 and targets.shape[0] != batch:
        raise RuntimeError(
            f"Expected tensor to have size {batch} at dimension 0, but got size "
            f"{targets.shape[0]} for argument #2 'targets' {_CHECKING}"
        )
    longest = max(lengths, default=0)
    if targets.ndim == 2 and targets.shape[1] < longest:
        raise RuntimeError(
            f"Expected tensor to have size at least {longest} at dimension 1, but got "
            f"size {targets.shape[1]} for argument #2 'targets' {_CHECKING}"
        )
    if max(ends, default=0) > time:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {time}, but got value "
            f"{max(ends)} {_CHECKING}"
        )


def _shifted(xp: Any, values: Any, steps: int, allowed: Any = None) -> Any:
    """Move states along by ``steps``, forwards or, if negative, backwards."""
    found = xp.full(values.shape, -math.inf, values.dtype)
    if abs(steps) < values.shape[1]:
        if steps > 0:
            found[:, steps:] = values[:, :-steps]
        else:
            found[:, :steps] = values[:, -steps:]
    return found if allowed is None else xp.where(allowed, found, -math.inf)


def _alphas(xp: Any, emitted: Any, states: _States) -> Any:
    """Return the log-probability of reaching each state by each time: (T, N, L)."""
    found = xp.full(emitted.shape, -math.inf, emitted.dtype)
    if not found.size:
        return found
    found[0, :, :2] = emitted[0, :, :2]
    found[0, :, 1:2][states.last == 0] = -math.inf
    for t in range(1, len(found)):
        before = found[t - 1]
        reached = xp.logaddexp(before, _shifted(xp, before, 1))
        skipped = _shifted(xp, before, 2, states.skips)
        found[t] = xp.logaddexp(reached, skipped) + emitted[t]
    return found


def _betas(xp: Any, emitted: Any, states: _States, ends: Lengths) -> Any:
    """Return the log-probability of ending well from each state: (T, N, L)."""
    found = xp.full(emitted.shape, -math.inf, emitted.dtype)
    rows = xp.arange(emitted.shape[1])
    finish = xp.asarray(ends) - 1
    leaves = xp.zeros(states.skips.shape, "bool")
    leaves[:, :-2] = states.skips[:, 2:]
    after: Any = xp.full(emitted.shape[1:], -math.inf, emitted.dtype)
    for t in range(len(found) - 1, -1, -1):
        begun = xp.logaddexp(after, _shifted(xp, after, -1))
        begun = xp.logaddexp(begun, _shifted(xp, after, -2, leaves))
        ending = finish == t
        last = states.last[ending]
        begun[rows[ending], last] = 0
        begun[rows[ending], xp.maximum(last - 1, 0)] = 0
        after = found[t] = begun + emitted[t]
    return found


def _derivative(
    F: Any,
    grad: Any,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    zero_infinity: bool,
    result0: Any,
    result1: Any,
) -> Any:
    how = (input_lengths, target_lengths, blank, zero_infinity)
    return F._ctc_loss_backward(grad[0], log_probs, targets, result0, result1, *how)


@op(
    {"log_probs": _derivative},
    node="CtcLossBackward0",
    outputs=2,
    differentiable=(0,),
    method=False,
)
def _ctc_loss(
    xp: Any,
    log_probs: Array,
    targets: Array,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    zero_infinity: bool = False,
) -> Any:
    """Return each sample's loss, (N,), and the forward recursion, (N, T, states)."""
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    if log_probs.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(
            f"\"ctc_loss_cpu\" not implemented for '{scalar_name(log_probs)}'"
        )
    states = _states(xp, targets, target_lengths, blank)
    emitted = _emitted(xp, log_probs, states)
    alphas = _alphas(xp, emitted, states)
    losses = xp.full(len(input_lengths), math.inf, log_probs.dtype)
    for row, end in enumerate(input_lengths):
        last = int(states.last[row])
        if end == 0:
            losses[row] = 0.0 if last == 0 else math.inf
        else:
            reached = alphas[end - 1, row]
            total = reached[last]
            if last:
                total = xp.logaddexp(total, reached[last - 1])
            losses[row] = -total
    return losses, xp.ascontiguousarray(alphas.swapaxes(0, 1))


def _emitted(xp: Any, log_probs: Any, states: _States) -> Any:
    """Return the log-probability of every state's label at each time: (T, N, L)."""
    index = xp.broadcast_to(states.labels, (log_probs.shape[0], *states.labels.shape))
    return xp.take_along_axis(log_probs, index, 2)


@hidden_op(underived("_ctc_loss_backward", "grad_output", "log_probs"), node=UNDERIVED)
def _ctc_loss_backward(
    xp: Any,
    grad_output: Array,
    log_probs: Array,
    targets: Array,
    neg_log_likelihood: Array,
    log_alpha: Array,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int,
    zero_infinity: bool,
) -> Any:
    """Return what each label was expected at each time, less how often it was due."""
    states = _states(xp, targets, target_lengths, blank)
    emitted = _emitted(xp, log_probs, states)
    joint = log_alpha.swapaxes(0, 1) + _betas(xp, emitted, states, input_lengths)
    loss = neg_log_likelihood[:, None]
    share = xp.exp(xp.where(joint == -math.inf, -math.inf, joint + loss - emitted))
    share = xp.where(joint == -math.inf, 0, share)
    found = xp.exp(log_probs)
    times, rows = xp.arange(len(found))[:, None, None], xp.arange(found.shape[1])
    xp.subtract.at(found, (times, rows[None, :, None], states.labels[None]), share)
    found *= grad_output[:, None]
    lost = xp.isinf(neg_log_likelihood)
    found[:, lost] = 0 if zero_infinity else math.nan
    found[times[:, :, 0] >= xp.asarray(input_lengths)] = 0
    return found
