"""A loss function got predictions and targets of different shapes, and broadcast them.

What it does
    Finds ``mse_loss``, ``l1_loss``, ``smooth_l1_loss`` and ``huber_loss`` calls whose
    operands broadcast to something larger than the predictions. A column that
    ``gather`` picked for the loss alone is to be squeezed where it was picked.

Why is this bad
    PyTorch only warns. The loss compares every prediction with every target.

Example
    ::

        loss = F.mse_loss(net(x), target)  # (N, 1) and (N,)

Use instead
    ::

        loss = F.mse_loss(net(x).squeeze(1), target)

When it stays quiet
    Operands of one shape.

References
    https://github.com/pytorch/pytorch/issues/16045
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from gradviz.dependence.op_families import DISTANCES
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import described, origin
from gradviz.diagnosis.rules.gv602_broadcast_loss_manual import broadcast_pair, hit
from gradviz.program import History

_SO = "The loss pulls all predictions to the same value."
_LOSSES = DISTANCES | {"poisson_nll_loss"}


@rule("GV603", "broadcast-mse-loss", "warning")
def check(history: History) -> Iterator[Hit]:
    for call in history.calls:
        if call.op not in _LOSSES or len(call.inputs) < 2 or call.error is not None:
            continue
        pair = broadcast_pair(call)
        if pair is not None:
            found = hit(history, call, *pair)
            yield replace(found, message=f"{found.message} {_SO}")
            continue
        guess, target = call.inputs[:2]
        shape = _together(guess.shape, target.shape)
        if shape != guess.shape:
            yield Hit(
                f"{history.line(call.site)} compares predictions with the targets of "
                f"other samples: {described(history, guess, 'the prediction')} and "
                f"{described(history, target, 'the target')} broadcast to {shape}.",
                call.site,
                "Give prediction and target the same shape.",
                related=(
                    Related("shape made here", origin(history, guess, "shape")),
                    Related("other shape made here", origin(history, target, "shape")),
                ),
                tensors=(guess.tensor, target.tensor),
            )


def _together(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    pairs = zip_longest(reversed(one), reversed(other), fillvalue=1)
    return tuple(max(pair) for pair in pairs)[::-1]
