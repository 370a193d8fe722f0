"""The best sample of each class is taken for the best class of each sample.

What it does
    Finds ``argmax``, ``max`` and ``topk`` of class scores whose indices are compared
    with classes, or given to a loss as its targets, and which run over another
    dimension than that of the classes. Where
    the classes are, a loss shows: it takes them from what the same layer made. Where
    the dimension was set elsewhere, in a setting or by ``partial``, the line there.

Why is this bad
    The result has one number per class, and each is the number of a sample. Compared
    with targets it is right by chance only; training is not touched, the metric is
    worthless. As targets, pseudo-labels teach noise.

Example
    ::

        loss = F.cross_entropy(net(x), target)
        right = [p == t for p, t in zip(net(x).argmax(0), target)]

Use instead
    ::

        right = [p == t for p, t in zip(net(x).argmax(1), target)]

When it stays quiet
    Where indices are not compared with whole numbers, and no loss takes them for
    classes: the best samples of each class may be wanted. Where no loss shows which
    layer's results are classes.

References
    https://pytorch.org/docs/stable/generated/torch.argmax.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.axis_walk import axes_of
from gradviz.dependence.flow import words
from gradviz.dependence.lineage import ahead, is_kept, made_through
from gradviz.dependence.op_families import CLASS_LOSSES, MOVES, PICKS, plain
from gradviz.diagnosis.decisions.decision import of_setting
from gradviz.diagnosis.edits.shapes import over_dimension
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._classes import of_classes, weights_of
from gradviz.program import Call, History, RawSite, Value

_CHOICES = words("argmax max topk")
_EQUALITY = words("eq ne")


@rule("GV675", "choice-over-batch", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that chooses so."""
    choices = [each for each in history.calls if plain(each.op) in _CHOICES]
    if not choices or not history.backwards:
        return
    axes = history.once(axes_of)
    layers = of_classes(history)
    told = set[RawSite | None]()
    for call in choices if layers else ():
        over = _over(call)
        if over is None or call.site in told:
            continue
        scores = axes.of(call.inputs[0])
        places = [i for i, dim in enumerate(scores) if weights_of(dim) & layers.keys()]
        compared = _compared(history, call) if places and over not in places else None
        if compared is not None:
            told.add(call.site)
            key = next(iter(weights_of(scores[places[0]]) & layers.keys()))
            yield _hit(history, call, (over, places[0]), layers[key], compared)


def _place(call: Call) -> int:
    """Return the place of the dimension among the arguments, behind the scores."""
    return 1 if plain(call.op) == "topk" else 0


def _over(call: Call) -> int | None:
    """Return the dimension that a choice runs over, of scores with several."""
    place = 1 + _place(call)
    given = call.keywords.get("dim", call.arguments[place : place + 1] or (None,))
    given = given[0] if isinstance(given, tuple | list) else given
    rank = len(call.inputs[0].shape) if call.inputs else 0
    if type(given) is not int or rank < 2 or not call.outputs:
        return None
    return given % rank


def _compared(history: History, choice: Call) -> Call | None:
    """Return the call that takes the indices of a choice for classes.

    It compares them with whole numbers, or is a loss that has them for its targets.
    """
    for value, use in ahead(history, choice.outputs[-1:], is_kept, choice.index):
        compares = plain(use.op) in _EQUALITY
        if compares and any(_is_class(history, e, value) for e in use.inputs):
            return use
        targets = [each.tensor for each in use.inputs[1:2]]
        if plain(use.op) in CLASS_LOSSES and value.tensor in targets:
            return use
    return None


def _is_class(history: History, other: Value, value: Value) -> bool:
    """Tell whether a number that is compared came in, and was not chosen as well."""
    if other.tensor == value.tensor or "int" not in other.dtype:
        return False
    made = made_through(history, other, None, MOVES | PICKS)
    if made is None or made.index < history.backwards[0].index:
        return True
    return plain(made.op) not in _CHOICES


def _hit(
    history: History, call: Call, places: tuple[int, int], loss: Call, compared: Call
) -> Hit:
    over, classes = places
    shape = tuple(call.inputs[0].shape)
    is_target = plain(compared.op) in CLASS_LOSSES
    taken = "takes these as targets" if is_target else "compares these with classes"
    chosen = of_setting(history, call, (), _place(call), ("dim", "axis"))
    return Hit(
        f"`{plain(call.op)}` runs over dimension {over} of shape {shape}: it gives the "
        "best sample for each class, not the best class for each sample, and "
        f"{history.line(compared.site)} {taken}. Dimension {classes} has the classes, "
        f"where `{plain(loss.op)}` ({history.line(loss.site)}) takes them.",
        chosen.site,
        f"Write `dim={classes}`.",
        symptom=compared.site,
        line=chosen.line,
        related=(
            Related("runs here", chosen.made),
            Related("targets here" if is_target else "compared here", compared.site),
            Related("the classes are taken here", loss.site),
        ),
        tensors=(call.inputs[0].tensor,),
        edit=None if chosen.is_elsewhere else over_dimension(chosen.site, classes),
        certainty=0.9,
    )
