"""A layer overwrites a tensor that a skip connection reads afterwards.

What it does
    Finds activations that work in place on a tensor which goes on under its own name:
    ``out = self.relu(x)`` and later ``out + x``, or ``self.body(x) + x`` where the body
    begins with ``nn.ReLU(inplace=True)``; layers that write their argument with ``-=``
    and the like. Also ``out = F.relu_(x)`` where
    ``autograd.grad`` is asked for the gradient of ``x`` afterwards.

Why is this bad
    ``x`` has the activated values by then, though its name says otherwise: what goes
    around the layer is not what went into it. Autograd takes it for what was meant, and
    nothing fails. A gradient of ``x`` is that of the activated values: the slope of the
    activation is not in it, and that of ``out`` is 1.

Example
    ::

        self.body = nn.Sequential(nn.ReLU(inplace=True), nn.Conv2d(8, 8, 3, padding=1))
        return self.body(x) + x

Use instead
    ::

        self.body = nn.Sequential(nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))

When it stays quiet
    The result takes the name over, ``x = self.relu(x)``; statements that only write;
    tensors that nobody reads later. Where it is put beside the result by ``cat``, as
    some known networks do, it is an information only.

References
    https://pytorch.org/docs/stable/generated/torch.nn.ReLU.html
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from gradviz.dependence.flow import words
from gradviz.dependence.op_families import ACTIVATIONS, JOINS, plain
from gradviz.diagnosis.decisions.arguments import given
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.decision import of_write
from gradviz.diagnosis.decisions.frames import Spot, spot
from gradviz.diagnosis.edits.draft import parsed_expression
from gradviz.diagnosis.edits.writes import out_of_place
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Backward, Call, History, RawSite, following

_ACTIVATIONS = ACTIVATIONS | words(
    "dropout alpha_dropout dropout2d dropout1d dropout3d clamp clamp_min clamp_max "
    "clip exp sqrt square abs"
)
_ARITHMETIC = words("add sub mul div pow")
_WRITING = _ACTIVATIONS | _ARITHMETIC
_TURNS = 3  # of one line that are looked at


@rule("GV666", "changed-before-it-is-read", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per layer or call that does so."""
    turns = Counter[RawSite | None]()
    told = set[RawSite | None]()
    for call in history.calls:
        op = plain(call.op)
        if not call.writes or op not in _WRITING or not call.inputs:
            continue
        if not call.inputs[0].requires_grad or turns[call.site] >= _TURNS:
            continue
        turns[call.site] += 1
        found = _read_later(history, call)
        if op in _ACTIVATIONS:
            found = found or _asked_later(history, call)
        site = of_write(history, call).site
        if found is not None and site not in told:
            told.add(site)
            yield _hit(history, call, site, *found)


def _read_later(
    history: History, write: Call
) -> tuple[RawSite, str, Call | Backward] | None:
    """Return where a name was handed to what writes, the name, and who reads it."""
    own = plain(write.op) in _ARITHMETIC  # it says itself what it writes
    layer = {write.module} if own else set[int | None]()
    for use in history.uses(write.inputs[0].tensor, after=write.index):
        if use.module in layer or (own and write.module is None):
            continue  # no layer between them, which a reader would not look into
        if not any(each.requires_grad for each in use.outputs):
            continue
        for depth, site in enumerate(write.frames):
            if use.site is None or use.site[0] is not site[0]:
                continue
            if use.stack != write.frames[depth + 1 :]:
                continue  # another run of the function
            for name in _handed(history, site):
                if _reads(history, use.site, site, name):
                    return site, name, use
    return None


def _asked_later(
    history: History, write: Call
) -> tuple[RawSite, str, Call | Backward] | None:
    """Return where a name was handed to what writes, and who asks for its gradient."""
    tensor = write.inputs[0].tensor
    for event in following(history.backwards, write.index):
        if event.api != "grad" or all(each.tensor != tensor for each in event.inputs):
            continue
        where = spot(history, event.site, event.stack)
        asked = None if where is None else given(where, 1, ("inputs",))
        names = set[str]() if asked is None else _names_of(asked)
        for site in write.frames:
            own = names.isdisjoint(history.places.targets(site))
            for name in _handed(history, site) if own else ():
                if name in names:
                    return site, name, event
        return None
    return None


def _names_of(where: Spot) -> set[str]:
    """Return the names that an argument, or an entry of it, has had on its way."""
    node = where.node
    listed = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    steps = [step.node for each in listed for step in path(where.at(each))]
    return {each.id for each in steps if isinstance(each, ast.Name)}


def _handed(history: History, site: RawSite) -> list[str]:
    """Return the names that a call takes as they are, and that go on afterwards."""
    tree = parsed_expression(history.text(site))
    if not isinstance(tree, ast.Call):
        return []
    statement = history.places.statement(site)
    if isinstance(statement, ast.Expr) and _only_writes(statement.value, tree):
        return []
    function = tree.func
    own = isinstance(function, ast.Attribute) and function.attr.endswith("_")
    taken = [function.value] if own and isinstance(function, ast.Attribute) else []
    plain_names = [e.id for e in (*taken, *tree.args) if isinstance(e, ast.Name)]
    names = [*plain_names, *_other_names(history, site, plain_names)]
    return [each for each in names if each not in history.places.targets(site)]


def _only_writes(statement: ast.expr, call: ast.Call) -> bool:
    """Tell whether a statement is a call and writes to its result: ``x.sub_().div_()``.

    Nobody takes that result, so the name is meant to have what was written.
    """
    while ast.dump(statement) != ast.dump(call):
        match statement:
            case ast.Call(ast.Attribute(inner, name)) if name.endswith("_"):
                statement = inner
            case _:
                return False
    return True


def _other_names(history: History, site: RawSite, given: list[str]) -> list[str]:
    """Return the names that a function gave these before: ``shortcut = x``."""
    function, line = history.places.function(site[0]), history.places.line(site)
    return [
        target.id
        for each in ([] if function is None else ast.walk(function))
        if isinstance(each, ast.Assign)
        and each.lineno < line
        and isinstance(each.value, ast.Name)
        and each.value.id in given
        for target in each.targets
        if isinstance(target, ast.Name)
    ]


def _reads(history: History, use: RawSite, write: RawSite, name: str) -> bool:
    """Tell whether an expression reads a name, apart from the call that writes."""
    tree, inner = (parsed_expression(history.text(each)) for each in (use, write))
    if tree is None or inner is None:
        return False
    inside, whole = ast.dump(inner), list(ast.walk(tree))
    hidden = {
        id(each)
        for call in whole
        if isinstance(call, ast.Call) and ast.dump(call) == inside
        for each in ast.walk(call)
    }
    names = [each for each in whole if isinstance(each, ast.Name) and each.id == name]
    return any(id(each) not in hidden for each in names)


def _hit(
    history: History,
    call: Call,
    site: RawSite | None,
    at: RawSite,
    name: str,
    use: Call | Backward,
) -> Hit:
    other = re.search(rf"\b{re.escape(name)}\b", history.text(at)) is None
    what = f"what `{name}` names, too," if other else f"`{name}`,"
    op = plain(call.op)
    reads, gets = f"reads `{name}`", f"it gets what `{op}` made of it, not what it was."
    if isinstance(use, Backward):
        reads = f"asks for the gradient of `{name}`"
        gets = f"it gets that of what `{op}` made of it, without the slope of `{op}`."
    joins = isinstance(use, Call) and plain(use.op) in JOINS
    spelt = f"{op}_(" in history.text(site)
    return Hit(
        f"{history.quoted(at)} works in place on {what} and {history.quoted(use.site)} "
        f"{reads} afterwards: {gets}",
        site,
        f"Write `{op}` for `{op}_`, which leaves `{name}` as it is."
        if spelt
        else f"Compute `{op}` out of place, under a name of its own."
        if op in _ARITHMETIC
        else "Leave `inplace=True` out here.",
        symptom=use.site,
        related=(
            Related("overwritten here", at),
            Related("read here", use.site),
        ),
        tensors=(call.inputs[0].tensor,),
        edit=out_of_place(site),
        severity="info" if joins else None,
        certainty=0.7,
    )
