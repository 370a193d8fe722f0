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

from collections.abc import Iterator

from gradviz.diagnosis.decisions.sites import same_line, site_of
from gradviz.diagnosis.edits.leaves import value_followed_by
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._bindings import handed_away, put_away_at
from gradviz.program import History

_LOCAL = (
    "Compute with a variable of the function, and keep only a copy of it without its "
    "graph, `.detach()`: {} goes on with the result, and has to go on with the graph. "
    "Or set it to None before the object is copied."
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
        at_once = (kept or given) is None or same_line(
            kept, made.site
        )  # it has no other name
        used = next((use for use in uses if at_once and use.nodes and use.site), None)
        yield Hit(
            "`deepcopy` cannot copy a tensor that has a graph, and "
            f"{history.quoted(call.site)} comes to one: "
            f"{history.name(value, 'a result')}, computed in "
            f"{history.line(made.site)}.",
            kept or given or call.site,
            _LOCAL.format(history.line(used.site))
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
