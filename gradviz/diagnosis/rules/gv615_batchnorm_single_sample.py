"""Batch norm in training mode got a batch with one value per channel.

What it does
    Explains the refusal, and names the line that made the batch so small: of a
    ``DataLoader``, the one that constructs it, or who told it to keep the last batch.

Why is this bad
    The variance of one value is undefined. It is often the last batch of an epoch: the
    run fails after all the others went well.

Example
    ::

        for batch in data.split(2):  # of 5 samples
            net(batch)

Use instead
    ::

        loader = DataLoader(dataset, batch_size=2, drop_last=True)

When it stays quiet
    Where the program handles the error, it is an information only.

References
    https://github.com/pytorch/pytorch/issues/4534
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from gradviz.diagnosis._raised import failing
from gradviz.diagnosis._words import module_around
from gradviz.diagnosis.decisions.loaders import chosen, loader_of
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.edits.calls import with_keyword
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import origin_call, shape_text
from gradviz.program import Call, History

_SENTENCE = "Expected more than 1 value per channel when training"


@rule("GV615", "batchnorm-single-sample", "error")
def check(history: History) -> Iterator[Hit]:
    for call in failing(history, _SENTENCE):
        if not call.inputs:
            continue
        batch, layer = call.inputs[0], module_around(history, call.module)
        values = prod(batch.shape[:1] + batch.shape[2:])
        maker = origin_call(history, batch, lambda e: e.shape[:1], until="stack")
        ended = history.ended_by(call)
        site = maker.site if maker is not None else call.site
        loader = None if maker is None else loader_of(history, maker)
        chose = loader and chosen(loader, "drop_last", (False,))
        yield Hit(
            f"Batch norm is in training mode and got {shape_text(batch)}: "
            f"{values} value per channel has no variance. {_made(history, maker)}",
            site if chose is None else site_of(history, chose),
            "Leave the short last batch out (`drop_last=True`), use larger batches, or "
            "call `.eval()` for single samples.",
            symptom=call.site,
            related=(Related("layer made here", layer.site if layer else None),),
            tensors=(batch.tensor,),
            severity=None if ended else "info",
            explains=ended,
            line=None if chose is None else chose.line,
            edit=None
            if chose is None or chose is not loader
            else with_keyword(
                site_of(history, chose), "drop_last", "True", of=("DataLoader",)
            ),
        )


def _made(history: History, maker: Call | None) -> str:
    if maker is None:
        return ""
    if maker.op == "stack":  # what puts samples together into a batch
        return f"The batch is put together in {history.line(maker.site)}."
    before = next(iter(maker.inputs), None)
    given = f" of {shape_text(before)}" if before is not None else ""
    code = history.text(maker.site) or maker.op
    return f"The batch comes from `{code}`{given} in {history.line(maker.site)}."
