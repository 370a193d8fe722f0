"""A model's last operation cannot give the values that the loss compares it with.

What it does
    Finds losses of a difference (squared, absolute, Huber) between targets and what an
    activation gave, where many of the targets lie outside of what this activation can
    give: a ReLU's result against negative targets, a sigmoid's or a softmax's against
    targets beyond 0 and 1, a tanh's against targets beyond -1 and 1.
    Finds scores of a cross entropy that a ReLU has cut at 0.

Why is this bad
    No weights can give these targets. The loss stays high, and where a ReLU gives 0 for
    a negative target, its derivative is 0 too: these samples teach nothing. A score of
    0 says "even" to a sigmoid: what is below it is what says "no".

Example
    ::

        net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.ReLU())
        loss = F.mse_loss(net(x), temperature)  # from -12 to 30

Use instead
    ::

        net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))

When it stays quiet
    Targets in range; targets that were computed from parameters, as those of a
    teacher; and activations whose result is changed before it is compared.

References
    https://discuss.pytorch.org/t/model-predicts-only-positive-values/58938
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from math import inf

from gradviz.dependence.flow import words
from gradviz.dependence.learning import is_parameter
from gradviz.dependence.lineage import behind, made_through
from gradviz.dependence.op_families import (
    ARITHMETIC,
    DIFFERENCES,
    DISTANCES,
    MOVES,
    plain,
)
from gradviz.dependence.ranges import Range, Ranges
from gradviz.diagnosis._words import module_around
from gradviz.diagnosis.decisions.decision import Decision, of_function, of_layer
from gradviz.diagnosis.decisions.loops import of_elements
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, Value

_SCORED = words("binary_cross_entropy_with_logits cross_entropy cross_entropy_loss")
_LAYERS = words("ReLU Softplus Sigmoid Softmax Tanh Hardtanh")
_ENDS = words("relu softplus sigmoid softmax tanh hardtanh exp abs")
_SIZES = words("pow square abs norm")
_SCALING = ARITHMETIC | {"neg"}
_MARGIN = 0.05  # of the range of the targets: so far outside is no rounding
_TURNS = 3  # of a line: one batch of odd targets is no pattern


@rule("GV665", "output-cannot-reach-targets", "warning")
def check(history: History) -> Iterator[Hit]:
    turns: dict[object, int] = {}
    for call in history.calls:
        if turns.get(call.site) == _TURNS:
            continue  # it was told
        found = _compared(history, call)
        scores = _cut_scores(history, call) if found is None else None
        if found is None and scores is None:
            continue
        turns[call.site] = turns.get(call.site, 0) + 1
        if turns[call.site] == _TURNS and found is not None:
            yield _in_vain(history, call, *found)
        elif turns[call.site] == _TURNS and scores is not None:
            yield _cut(history, call, scores)


def _compared(history: History, call: Call) -> tuple[Call, Value, Range] | None:
    """Return an activation, what it is compared with in vain, and what it can give."""
    named = plain(call.op) in DISTANCES
    if not (named or _is_loss_by_hand(history, call)) or len(call.inputs) < 2:
        return None
    first, second = call.inputs[:2]
    pairs = ((first, second), (second, first))
    for given, target in pairs:
        if target.requires_grad or not given.requires_grad:
            continue
        known = history.producer(target, call.index)
        found = history.once(Ranges).of(given, call.index)
        alike = target.shape == given.shape and _is_outside(found, target)
        made = _activation(history, given, call.index) if alike else None
        if made is not None and _is_data(history, target, known):
            return made, target, found
    return None


def _is_loss_by_hand(history: History, call: Call) -> bool:
    """Tell whether a difference is squared, or its size taken, in its own statement."""
    if plain(call.op) not in DIFFERENCES:
        return False
    later = history.uses(call.outputs[0].tensor) if call.outputs else []
    statement = history.places.statement(call.site)
    one = isinstance(statement, ast.Assign | ast.Return | ast.Expr | ast.AugAssign)
    return one and any(plain(each.op) in _SIZES for each in later)


def _activation(history: History, value: Value, before: int) -> Call | None:
    """Return what bounded a value, behind its views and its scale."""
    for call in behind(history, value, before):
        name = plain(call.op)
        if name in _ENDS:
            return call
        if name not in MOVES and not (name in _SCALING and len(call.inputs) == 1):
            return None
    return None


def _cut_scores(history: History, call: Call) -> Call | None:
    """Return the ReLU that cut the scores of a cross entropy."""
    if plain(call.op) not in _SCORED or not call.inputs:
        return None
    made = made_through(history, call.inputs[0], call.index, MOVES)
    return made if made is not None and plain(made.op) == "relu" else None


def _is_data(history: History, target: Value, made: Call | None) -> bool:
    """Tell data from what a model gave: of a teacher, a target network, a critic."""
    if made is None:
        return history.has_all  # or what gave it may be gone
    behind_it = history.behind([target], made.index + 1)
    return not any(is_parameter(history, each) for each in behind_it)


def _is_outside(given: Range, target: Value) -> bool:
    """Tell whether the targets reach beyond what can be given, by much."""
    found = target.summary
    if found is None or found.minimum is None or found.maximum is None:
        return False
    low, high = given
    extent = found.maximum - found.minimum
    below, above = low - found.minimum, found.maximum - high
    return extent > 0 and max(below, above) > max(_MARGIN * extent, 1e-3)


def _in_vain(
    history: History, loss: Call, made: Call, target: Value, given: Range
) -> Hit:
    low, high = given
    gives = f"values from {low:g} to {high:g} only"
    if inf in (-low, high):
        gives = f"nothing below {low:g}" if high == inf else f"nothing above {high:g}"
    found, name = target.summary, history.name(target, "the target")
    assert found is not None
    what = (
        f"The model ends in `{plain(made.op)}`, which gives {gives}, but {name} goes "
        f"from {found.minimum:.3g} to {found.maximum:.3g}: "
        f"`{history.text(loss.site)}` compares what can never be equal."
    )
    fix = (
        "Leave the activation off after the last layer, or scale the targets into its "
        "range."
    )
    hit = _hit(history, loss, made, what, fix)
    return replace(hit, tensors=(target.tensor,), certainty=0.8)


def _cut(history: History, loss: Call, made: Call) -> Hit:
    costs = (
        "no probability can fall below one half"
        if plain(loss.op).startswith("binary")
        else "all classes whose score it cut are equally likely, and learn nothing"
    )
    what = (
        f"The scores that `{history.text(loss.site)}` turns into probabilities come "
        f"from a `relu`, so none is below 0: {costs}."
    )
    fix = (
        "Leave the activation off after the last layer: the loss takes scores of "
        "either sign."
    )
    return _hit(history, loss, made, what, fix)


def _hit(history: History, loss: Call, made: Call, what: str, fix: str) -> Hit:
    chosen = _chosen(history, made)
    return Hit(
        what + chosen.words(history),
        chosen.site,
        fix,
        line=chosen.line,
        symptom=loss.site,
        related=(
            Related("runs here", made.site),
            Related("compared here", loss.site),
        ),
        certainty=0.7,
    )


def _chosen(history: History, made: Call) -> Decision:
    """Return the line that put it last, where another one chose it for all layers."""
    chosen = of_function(history, made, _LAYERS)
    module = module_around(history, made.module)
    if module is None or not chosen.is_elsewhere:
        return chosen
    alike = (
        of_layer(history, other)
        for key, other in history.program.modules.items()
        if other.kind == module.kind and key != module.key
    )
    if any((e.site, e.line) == (chosen.site, chosen.line) for e in alike):
        return of_elements(history, module.site, module.stack)
    return chosen
