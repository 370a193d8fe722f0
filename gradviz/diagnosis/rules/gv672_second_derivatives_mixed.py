"""Columns of a gradient are differentiated together, as if they were one by one.

What it does
    Finds ``autograd.grad(g, x, torch.ones_like(g))``, or the same of ``g.sum()``, where
    ``g`` has the columns of ``x`` and is the gradient by it, or computed from it, and
    columns of the result are picked or added up.

Why is this bad
    What is differentiated is the sum of all columns. Column ``j`` of the result is the
    sum over ``i`` of d²u/dx_i dx_j, with every mixed derivative in it: the Laplacian of
    an equation made so is another operator, and so is the divergence of a score.
    Nothing fails, and the solution is wrong.

Example
    ::

        u_x = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
        laplacian = u_xx.sum(dim=1)

Use instead
    ::

        for i in range(x.shape[1]):
            ones = torch.ones_like(u_x[:, i])
            row = torch.autograd.grad(u_x[:, i], x, ones, create_graph=True)[0]
            laplacian = laplacian + row[:, i]

When it stays quiet
    One column, other factors than ones, as in a Hessian-vector product, and results
    that are used as a whole.

References
    https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
    M. Raissi et al. (2019), Physics-informed neural networks, section 3,
    doi:10.1016/j.jcp.2018.10.045
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from gradviz.dependence.cuts import sampled
from gradviz.dependence.flow import words
from gradviz.dependence.op_families import PICKS, plain
from gradviz.diagnosis.decisions.order import parting
from gradviz.diagnosis.edits.calls import call_at, operand_of
from gradviz.diagnosis.edits.syntax import Place, called, keyword, place
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, Call, History, RawSite, Value

_ONES = words("ones ones_like new_ones")
_MIXING = words("linear matmul mm addmm einsum bilinear")
_ROWS = 2  # dimensions of samples and their columns
_APART = PICKS | words("sum trace diagonal")


@rule("GV672", "second-derivatives-mixed", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that differentiates a whole gradient so."""
    told = set[RawSite | None]()
    for outer in sampled(history):
        if outer.site in told or len(outer.inputs) != 1 or len(outer.roots) != 1:
            continue
        gradient = _summed(history, outer)
        inner = None if gradient is None else _pass_of(history, gradient, outer)
        uses = _taken_apart(history, outer)
        if gradient is None or not uses:
            continue
        if inner is not None or _is_divergence(history, outer, gradient):
            told.add(outer.site)
            yield _hit(history, outer, inner, gradient, uses)


def _summed(history: History, outer: Backward) -> Value | None:
    """Return the tensor of several columns whose sum a pass differentiates."""
    (root,) = outer.roots
    if not root.shape:
        total = history.producer(root, before=outer.index)
        if total is None or plain(total.op) != "sum" or len(total.arguments) > 1:
            return None
        root = total.inputs[0]
    else:
        given = outer.gradients[0] if outer.gradients else None
        made = None if given is None else history.producer(given, before=outer.index)
        if made is None or plain(made.op) not in _ONES:
            return None
    several = len(root.shape) > 1 and root.shape[-1] > 1
    return root if several and root.shape == outer.inputs[0].shape else None


def _pass_of(history: History, gradient: Value, outer: Backward) -> Backward | None:
    """Return the pass whose result a tensor is, by what ``outer`` differentiates by."""
    wanted = outer.inputs[0].tensor
    for each in reversed(history.backwards):
        if each.index < outer.index and each.api == "grad":
            for given, result in zip(each.inputs, each.results, strict=False):
                if result is not None and result.tensor == gradient.tensor:
                    return each if given.tensor == wanted else None
    return None


def _is_divergence(history: History, outer: Backward, columns: Value) -> bool:
    """Tell whether a graph goes on through what a whole output gave, column by column.

    Of an input that is no parameter, and whose columns were mixed on the way; a
    saliency map has no graph.
    """
    by = outer.inputs[0]
    if not outer.create_graph or by.is_parameter or len(by.shape) != _ROWS:
        return False
    made = (
        history.producer(each, outer.index)
        for each in history.behind([columns], outer.index)
    )
    return any(each is not None and plain(each.op) in _MIXING for each in made)


def _taken_apart(history: History, outer: Backward) -> list[Call]:
    """Return the calls that take columns of the result, or add them up."""
    result = outer.results[0] if outer.results else None
    uses = [] if result is None else history.uses(result.tensor, outer.index)
    return [use for use in uses if plain(use.op) in _APART]


def _hit(
    history: History,
    outer: Backward,
    inner: Backward | None,
    columns: Value,
    uses: list[Call],
) -> Hit:
    use = uses[0]
    asked = _asked_at(outer, inner)
    whole, given = _written(history, asked, outer)
    targets = history.places.targets(asked)
    bound = f"{targets[0]} = " if len(targets) == 1 else ""
    name = history.name(columns, f"`{whole}`" if whole else "A tensor")
    by = history.name(outer.inputs[0], f"`{given}`" if given else "its input")
    first = history.producer(columns, before=outer.index) if inner is None else inner
    made = None if first is None else first.site
    what, derivative = (
        (f"computed from {by}", "derivative")
        if inner is None
        else (f"the gradient with respect to {by}", "second derivative")
    )
    return Hit(
        f"{history.quoted(use.site)} is not a {derivative} with respect to one "
        f"coordinate alone: it also contains mixed derivatives. {name} ({what}, "
        f"{history.line(made)}) has {columns.shape[-1]} columns, and differentiating "
        "all columns at once gives the derivative of their sum.",
        asked,
        _fix(columns, set(map(_column, uses)), bound, whole, given),
        symptom=use.site,
        related=(
            Related("columns computed here", made),
            Related("column used here", use.site),
        ),
        tensors=(columns.tensor,),
        certainty=0.85,
    )


def _written(
    history: History, site: RawSite | None, outer: Backward
) -> tuple[str, str]:
    """Return how the tensor and what it is differentiated by are written; "" if not."""
    texts = ["", ""]
    with suppress(LookupError):
        found = place(history, site if site == outer.site else None)
        call = call_at(found, ("grad",))
        named = [keyword(call, "outputs"), keyword(call, "inputs")]
        given = [*call.args[:2], *(each.value for each in named if each is not None)]
        for number, node in enumerate(given[:2]):
            inner = node.elts[0] if isinstance(node, ast.List | ast.Tuple) else node
            if isinstance(inner, ast.Call) and called(inner) == "sum":
                inner = operand_of(Place(found.source, inner, found.statement))
            texts[number] = found.source.of(inner)
    return texts[0], texts[1]


def _fix(
    columns: Value, taken: set[int | None], bound: str, whole: str, given: str
) -> str:
    """Return the calls to make as the program would write them."""
    alone = next(iter(taken)) if len(taken) == 1 else None
    rows = ":, " * (len(columns.shape) - 1)
    part = f"{whole}[{rows}{'i' if alone is None else alone}]"
    call = f"torch.autograd.grad({part}, {given}, torch.ones_like({part}), "
    if whole and given and alone is not None:
        return f"Differentiate that column alone: `{call}create_graph=True)`."
    if not whole or not given:
        return (
            "Differentiate each column in a separate call, and take the same column of "
            "the result."
        )
    last = f"[{', '.join([':'] * (len(columns.shape) - 1))}, i]"
    return (
        f"Differentiate each column in a separate call: `{bound}torch.stack(["
        f"{call}create_graph=True)[0]{last} for i in range({columns.shape[-1]})], -1)`."
    )


def _column(use: Call) -> int | None:
    """Return the one column that a call takes: 0 of `[:, 0]` and of `[:, 0:1]`."""
    index = use.arguments[1] if plain(use.op) == "getitem" else None
    last = index[-1] if isinstance(index, tuple) and index else None
    if isinstance(last, slice):
        first = last.start or 0
        return first if last.stop == first + 1 else None
    return last if isinstance(last, int) and not isinstance(last, bool) else None


def _asked_at(outer: Backward, inner: Backward | None) -> RawSite | None:
    """Return the line that wanted both derivatives of a helper which gives either."""
    if inner is None or inner.site != outer.site:
        return outer.site
    parted = parting(outer.frames, inner.frames)
    return outer.site if parted is None else parted[0]
