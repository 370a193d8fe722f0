"""GV102 inplace-saved-input: a tensor was overwritten after an operation had saved it.

What it does
    Finds the first write to a tensor that an operation saved because its derivative is
    computed from its input. Of a state that the program keeps up in place, with grad
    mode off (a buffer, as in spectral normalisation), the line that reads it.

Why is this bad
    The derivative of pow, mul, matmul, sin, log and many more needs the input as it
    was. When the input is overwritten before the backward pass, autograd refuses.

Example
    squares = h ** 2
    h.mul_(0.5)
    squares.sum().backward()

Use instead
    squares = h ** 2
    h = h * 0.5

When it stays quiet
    When no operation saved the tensor (``h + 1`` saves nothing), when the write comes
    before the operation or after the backward pass, and when a clone was written.

References
    PyTorch notes: Autograd mechanics, "In-place operations with autograd",
    "In-place correctness checks".
"""

from __future__ import annotations

import ast

from gradviz.diagnosis._saved_writes import (
    Overwrite,
    overwrite_rule,
    overwritten_words,
    rewrite_words,
    unwritten,
    version_words,
    written_at,
)
from gradviz.diagnosis._words import node_words, place, tensor_words
from gradviz.diagnosis.decisions.bindings import of_name
from gradviz.diagnosis.decisions.frames import spot
from gradviz.diagnosis.decisions.sites import site_of
from gradviz.diagnosis.edits.remedy import Remedy
from gradviz.diagnosis.edits.writes import copies
from gradviz.program import History, RawSite


def _message(history: History, found: Overwrite) -> str:
    if _keeps_up_a_state(history, found):
        name, passed = tensor_words(history, found.value), found.backward.site
        return (
            f"{place(history, found.site)} overwrites {name} each time that it runs, "
            f"and it ran again before {place(history, passed)}. The pass needs the "
            f"{name} that {node_words(history, found.node)} was computed with, so it "
            f"refuses {version_words(found)}."
        )
    return f"{overwritten_words(history, found)}."


def _keeps_up_a_state(history: History, found: Overwrite) -> bool:
    """Tell whether the write is one of several to a state, without a graph."""
    call, value = found.call, found.value
    if call is None or call.grad_enabled or value.requires_grad or not value.is_leaf:
        return False
    earlier = history.writes(value.storage, before=call.index)
    return any(each.site == call.site for each, _ in earlier)


def _culprit(history: History, found: Overwrite) -> RawSite | None:
    if not _keeps_up_a_state(history, found):
        return written_at(history, found)
    return _named_at(history, found) or found.node.site


def _named_at(history: History, found: Overwrite) -> RawSite | None:
    """Return the line that gave a state the local name by which the graph reads it."""
    maker = history.maker(found.node)
    where = None if maker is None else spot(history, maker.site, maker.stack)
    given = getattr(where and where.node, "args", ())
    names = [each for each in given if isinstance(each, ast.Name)]
    bound = [] if where is None else [of_name(where.at(each)) for each in names]
    states = [each for each in bound if each and isinstance(each.node, ast.Attribute)]
    return site_of(history, states[0]) if len(states) == 1 else None


def _fix(history: History, found: Overwrite) -> str:
    if not _keeps_up_a_state(history, found):
        return rewrite_words(history, found)
    return "Let the graph have a copy of the state: `.clone()` where it is read."


def _edit(history: History, found: Overwrite) -> Remedy | None:
    if not _keeps_up_a_state(history, found):
        return unwritten(history, found)
    site = _named_at(history, found)
    return None if site is None else copies(site)


RULE = overwrite_rule(
    "GV102",
    "inplace-saved-input",
    "input",
    _message,
    _fix,
    edit=_edit,
    culprit=_culprit,
)
