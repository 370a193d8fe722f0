"""What the rules about overwritten saved tensors have in common: facts in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gradviz.diagnosis._rewrites import instead
from gradviz.diagnosis._saved_writes import Kind, Overwrite, overwrites
from gradviz.diagnosis._words import (
    layer_or_call,
    module_around,
    module_words,
    node_words,
    place,
    tensor_words,
)
from gradviz.diagnosis.rule import Hit, Related
from gradviz.program.history import History
from gradviz.program.values import RawSite

_ACTIVATIONS = "ReLU ReLU6 RReLU LeakyReLU ELU SELU CELU SiLU Mish Threshold Hardtanh"
_DROPOUTS = "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout"
_WRITING_LAYERS = {
    *_ACTIVATIONS.split(),
    *_DROPOUTS.split(),
    "Hardswish",
    "Hardsigmoid",
}
"""Layers of the library that write their input if they are made with ``inplace``."""

_APART = "Hand it a copy: `layer(x.clone())`, or use another layer here."

Sentence = Callable[[History, Overwrite], str]


def hits(
    history: History,
    kind: Kind,
    message: Sentence,
    fix: Sentence,
    related: Callable[[History, Overwrite], Related] | None = None,
) -> Iterator[Hit]:
    """Yield the findings of one kind of overwrite, with the places they all show."""
    for found in overwrites(history):
        if found.kind == kind:
            yield Hit(
                message(history, found),
                _culprit(history, found),
                fix(history, found),
                symptom=found.backward.site,
                related=(
                    *_related(history, found),
                    *([related(history, found)] if related else []),
                ),
                nodes=(found.node.key,),
                tensors=(found.value.tensor,),
                severity="error" if found.ended else "info",
                explains=found.ended,
            )


def _culprit(history: History, found: Overwrite) -> RawSite | None:
    """Return the line to change: of a layer with ``inplace=True``, its construction."""
    if found.call is None or found.site != found.call.site:
        return found.site
    return layer_or_call(history, found.call, _WRITING_LAYERS)


def _related(history: History, found: Overwrite) -> Iterable[Related]:
    yield Related("saved here", found.node.site)
    producer = history.producer(found.value)
    made = None if producer is None else producer.site
    if made is None:
        facts = history.program.tensors.get(found.value.tensor)
        made = None if facts is None else facts.made
    if made is not None and made != found.node.site:
        yield Related("created here", made)
    if found.call is not None and found.call.site != _culprit(history, found):
        yield Related("written here", found.call.site, _APART)


def saved_words(history: History, found: Overwrite) -> str:
    """Return "PowBackward0 (line 19, …) saved its input `h` at version 0"."""
    role = "its result" if found.is_output else "its input"
    name = tensor_words(history, found.value)
    shape = f"shape {list(found.value.shape)}"
    facts = f"slot {slot(found)}" + ("" if shape in name else f", {shape}")
    return (
        f"{node_words(history, found.node)} saved {role}"
        f"{' ' if name.startswith('`') else ', '}{name} ({facts}) at version "
        f"{found.value.version}"
    )


def write_words(history: History, found: Overwrite) -> str:
    """Return "`h.mul_(0.5)` (line 20) made it version 1"."""
    after = found.version_now if found.write is None else found.write.after
    later = f"; it is now at version {found.version_now}" * (after != found.version_now)
    inside = "" if found.call is None else module_words(history, found.call.module)
    where = place(history, found.site, inside)
    return f"{where} made it version {after}{later}"


def rewrite_words(history: History, found: Overwrite) -> str:
    """Return how to do without the write."""
    around = None if found.call is None else found.call.module
    return instead(history, found.site, module_around(history, around))


def slot(found: Overwrite) -> str:
    """Return the name of the slot without its prefix: "self", "result"."""
    return found.slot.removeprefix("_saved_")
