"""``copy.deepcopy`` met a result that a module or an object keeps with its graph.

What it does
    Finds copies that failed because an attribute holds a tensor which is no leaf, and
    names the line that put it there, or gave it to the method that does.

Why is this bad
    A result cannot be copied without the graph behind it. The model was copied before
    it had run once; from then on the last activations hang on it.

Example
    ::

        def forward(self, x):
            h = self.encoder(x)
            self.features = h
            return self.head(h)

        best = copy.deepcopy(model)

Use instead
    ::

        self.features = h.detach()

When it stays quiet
    Copies of parameters, and of what was detached.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.detach.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.diagnosis.decisions.sites import same_line, site_of
from gradviz.diagnosis.edits.leaves import value_followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._bindings import handed_away, put_away_at
from gradviz.program import History, RawSite

_LOCAL = (
    "Compute with a variable of the function, `{name} = …`, which {line} goes on with, "
    "and keep it without its graph: `{kept} = {name}.detach()`."
)


@rule("GV226", "copy-of-a-result", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield the copy that failed."""
    for call in history.calls:
        if call.op != "__deepcopy__" or call.error is None or not call.inputs:
            continue
        value = call.inputs[0]
        made = history.producer(value)
        if value.is_leaf or made is None or made.site is None:
            continue
        kept, uses = put_away_at(history, made.site), history.uses(value.tensor)
        handed = handed_away(history, made.site) if kept is None else None
        given = None if handed is None else site_of(history, handed)
        # Where it is stored at once, it has no other name.
        at_once = (kept or given) is None or same_line(kept, made.site)
        used = next((use for use in uses if at_once and use.nodes and use.site), None)
        yield Hit(
            "`deepcopy` cannot copy a tensor that has a graph, and "
            f"{history.quoted(call.site)} comes to one: "
            f"{history.name(value, 'a result')}, computed in "
            f"{history.line(made.site)}.",
            kept or given or call.site,
            _local(history, kept or made.site, used.site)
            if used is not None
            else "Store it without its graph: `.detach()`; or set it to None before "
            "the copy is made.",
            symptom=call.site,
            related=(
                Related("copied here", call.site),
                Related("made here", made.site),
            ),
            tensors=(value.tensor,),
            edit=value_followed_by(kept, ".detach()") if kept and not used else None,
            explains=history.ended_by(call),
        )


def _local(history: History, kept: RawSite | None, used: RawSite | None) -> str:
    """Return how to compute with a variable, and keep what has no graph."""
    names = history.places.targets(kept)
    spelt = names[0] if names else "self.result"
    line = _read_at(history, kept, spelt) or history.line(used)
    return _LOCAL.format(name=spelt.rpartition(".")[2], kept=spelt, line=line)


def _read_at(history: History, kept: RawSite | None, spelt: str) -> str:
    """Return the first line below, in the function, that reads what was kept."""
    start = 0 if kept is None else history.places.line(kept)
    lines = [
        each.lineno
        for each in history.places.in_function(kept)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, ast.Load)
        and ast.unparse(each) == spelt
        and each.lineno > start
    ]
    return f"line {min(lines)}" if lines else ""
