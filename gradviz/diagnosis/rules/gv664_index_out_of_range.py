"""Class indices, or rows of a table, that are not there.

What it does
    Finds losses over classes that were given an index of a class that the scores do not
    have, and embeddings that were asked for a row they do not have, where that ended
    the run.

Why is this bad
    Of C classes the last is C - 1. On a CPU the call raises; on a GPU an assertion of
    the device ends the process, at some later line. Where labels begin at 1, one more
    output of the network would hide the mistake: class 0 would never occur.

Example
    ::

        labels = torch.tensor([int(row["class"]) for row in rows])  # 1 to 5
        loss = F.cross_entropy(net(x), labels)                      # 5 scores

Use instead
    ::

        labels = torch.tensor([int(row["class"]) - 1 for row in rows])

When it stays quiet
    Indices in range, and ``ignore_index``.

References
    https://pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    https://discuss.pytorch.org/t/indexerror-target-3-is-out-of-bounds/73524
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from gradviz.dependence import learning
from gradviz.dependence.lineage import behind
from gradviz.dependence.op_families import CLASS_LOSSES
from gradviz.diagnosis._raised import failing, own_site
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.decision import of_argument
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._origins import made_call
from gradviz.program import Call, History, Module, RawSite, Value

_LAST = ("Linear", "LazyLinear", "Conv1d", "Conv2d", "Conv3d", "Bilinear")
_FAR = 16  # calls from scores back to the layer
_FROM_ONE = "Count from 0: subtract 1 where the labels are made."


@rule("GV664", "index-out-of-range", "error")
def check(history: History) -> Iterator[Hit]:
    for call in failing(history, "out of bounds", "out of range"):
        if not history.ended_by(call) or len(call.inputs) < 2:
            continue
        if call.op in CLASS_LOSSES:
            yield from _of_classes(history, call)
        elif call.op == "embedding":
            yield from _of_rows(history, call)


def _range(value: Value) -> tuple[int, int] | None:
    """Return the least and the greatest of some indices, where they were looked at."""
    found = value.summary
    if found is None or found.minimum is None or found.maximum is None:
        return None
    return int(found.minimum), int(found.maximum)


def _of_classes(history: History, call: Call) -> Iterator[Hit]:
    scores, labels = call.inputs[:2]
    found = _range(labels)
    if found is None or not scores.shape or "int" not in labels.dtype:
        return
    classes, (least, greatest) = scores.shape[len(scores.shape) > 1], found
    if greatest < classes:
        return  # below 0
    made = made_call(history, labels)
    labels_at = _numbered_at(history, made)
    layer = _last_layer(history, scores)
    sized = None if layer is None else of_argument(history, layer, 1, _OUTPUTS)
    from_one = least >= 1 and greatest == classes
    name = history.name(labels, "the labels")
    count = f"{greatest + 1} classes, 0 to {greatest}, need as many scores"
    grow = f"Give the last layer as many outputs as there are classes: {count}."
    begin = "They count from 1. " if from_one else ""
    culprit = labels_at if from_one or sized is None else sized.site
    other, role = (
        (sized and sized.site, "as many scores as were asked for")
        if from_one or sized is None
        else (labels_at, "labels made here")
    )
    yield Hit(
        f"`{call.op}` got scores for {classes} classes, which are numbered 0 to "
        f"{classes - 1}, but {name} holds {least} to {greatest}. {begin}"
        f"{_made_words(history, made)}",
        culprit or own_site(call),
        _FROM_ONE if from_one else grow,
        symptom=call.site,
        related=(
            Related(role, other),
            Related("both meet here", call.site),
        ),
        tensors=(scores.tensor, labels.tensor),
        explains=True,
        certainty=0.9,
    )


_OUTPUTS = ("out_features", "out_channels")


def _made_words(history: History, made: Call | None) -> str:
    return "" if made is None else f"They were made in {history.line(made.site)}."


def _numbered_at(history: History, made: Call | None) -> RawSite | None:
    """Return the line that gave labels their numbers: of a table, where it was made."""
    if made is None:
        return None
    where = spot(history, made.site, made.stack)
    given = where.node.args if where and isinstance(where.node, ast.Call) else []
    for each in given:
        looked_up = each.elt if isinstance(each, ast.ListComp) else each
        if where is not None and isinstance(looked_up, ast.Subscript):
            table = path(where.at(looked_up.value))[-1]
            if isinstance(table.node, ast.Dict | ast.DictComp):
                return site_of(history, table)
    return made.site


def _last_layer(history: History, scores: Value) -> Module | None:
    """Return the layer whose weights gave scores their number."""
    for call in islice(behind(history, scores), _FAR):
        for each in call.inputs:
            module = learning.module_of(history, each.tensor)
            if module is not None and module.kind in _LAST:
                return module
    return None


def _of_rows(history: History, call: Call) -> Iterator[Hit]:
    table = next((each for each in call.inputs if len(each.shape) == 2
                  and "float" in each.dtype), None)  # fmt: skip
    indices = next((each for each in call.inputs if "int" in each.dtype), None)
    found = None if indices is None else _range(indices)
    if table is None or indices is None or found is None:
        return
    rows, (least, greatest) = table.shape[0], found
    layer = learning.module_of(history, table.tensor)
    sized = None if layer is None else of_argument(
        history, layer, 0, ("num_embeddings",)
    )  # fmt: skip
    made = made_call(history, indices)
    name = history.name(indices, "the indices")
    grow = f"Give it {greatest + 1} rows, or more: one for each index that can occur."
    if least < 0:
        grow = "Leave negative indices out, or map them to a row of their own."
    at = None if made is None else made.site
    yield Hit(
        f"The embedding has {rows} rows, 0 to {rows - 1}, but {name} asks for "
        f"{least} to {greatest}. {_made_words(history, made)}",
        (at if least < 0 else None) or (sized and sized.site) or own_site(call),
        grow,
        symptom=call.site,
        related=(
            Related("indices made here", at),
            Related("looked up here", call.site),
        ),
        tensors=(table.tensor, indices.tensor),
        explains=True,
        certainty=0.9,
    )
