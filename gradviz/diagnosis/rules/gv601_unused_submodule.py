"""A part of the model gets no gradient in any step: it is never used.

What it does
    Finds parameters whose module is never called, or whose result is not used, while
    other parameters of the same model learn.

Why is this bad
    The parameters stay as they were initialised. In distributed training the run stops
    with "Expected to have finished reduction in the prior iteration".

Example
    ::

        def __init__(self):
            self.skip = nn.Linear(8, 8)
            self.body = nn.Linear(8, 8)

        def forward(self, x):
            return self.body(x)

Use instead
    ::

        def forward(self, x):
            return self.body(x) + self.skip(x)

When it stays quiet
    Heads that are trained in turns, experts and layers picked from a list while others
    of the list are used (unless in each pass as many run as there are, and one of them
    again in the place of another, or a ``zip`` ends before the last), frozen parts,
    parts that no optimizer steps or that the program itself fills from other tensors,
    as averages. Before a second step of an optimizer, and of a part of an installed
    package's module, whose results one may leave unused, it is an information only.

References
    https://github.com/pytorch/pytorch/issues/43259
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.dependence.cuts import cuts, ends_graph
from gradviz.dependence.lineage import ahead
from gradviz.dependence.nesting import calls_of
from gradviz.diagnosis.decisions.choice import path
from gradviz.diagnosis.decisions.decision import Decision, decided, picking
from gradviz.diagnosis.decisions.frames import last_name, spot
from gradviz.diagnosis.edits.syntax import names_in
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._lifetime import loop_site
from gradviz.diagnosis.rules._rebinding_loops import rebindings
from gradviz.diagnosis.rules._rewrapped import rewraps
from gradviz.diagnosis.rules._unseen_inputs import unseen_inputs
from gradviz.diagnosis.rules.gv320_number_of_a_tensor import taken
from gradviz.program import Call, History, Module, ModuleCall, RawSite, Value
from gradviz.text.places import package_of

_LEAST = 3  # passes that call the same layers of a list
_CONTAINERS = ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict")


@rule("GV601", "unused-submodule", "warning")
def check(history: History) -> Iterator[Hit]:
    idle = _idle(history) if history.backwards else set[int]()
    if not idle:
        return
    yield from _alone(history, idle - learning.parameters(history).keys())
    trained = learning.trained(history)
    together = {
        tensor
        for each in history.program.optimizers.values()
        if trained & set(each.tensors)
        for tensor in each.tensors
    }  # several models in one optimizer are one
    for module in learning.outermost(history):
        if learning.all_parameters(history, module) & (trained | together):
            yield from _in_model(history, module, idle, False)


def _idle(history: History) -> set[int]:
    """Return the trainable parameters that no pass reaches and no cut explains."""
    wanted = learning.wanted(history)
    last = learning.last_seen(history)
    told = (cuts, rewraps, unseen_inputs, rebindings)
    cut_off = {leaf for rule in told for each in rule(history) for leaf in each.lost}
    cut_off |= {
        leaf for each in taken(history) if not each.is_meant for leaf in each.leaves
    }
    needed = set(learning.parameters(history)) if wanted is None else wanted
    kept_up = learning.kept_up(history)
    needed = {
        key
        for key in needed
        if key not in last
        or (last[key].requires_grad and last[key].storage not in kept_up)
    }
    return needed - learning.trained(history) - cut_off - learning.copies(history)


def _alone(history: History, idle: set[int]) -> Iterator[Hit]:
    """Yield a hit for each leaf of no module that is used, and only for numbers."""
    for tensor in sorted(idle):
        if _end(history, {tensor}) is not None:
            yield _lone(history, history.name(tensor, "a leaf"), tensor, None)


def _in_model(
    history: History, module: Module, idle: set[int], optional: bool
) -> Iterator[Hit]:
    """Yield a hit for each outermost part that is idle as a whole."""
    everything = learning.all_parameters(history, module)
    if everything and everything <= idle:
        yield _hit(history, module, everything, optional)
        return
    for name, tensor in module.parameters.items():
        if tensor in idle and name != "bias":
            label = f"{history.name(tensor, f'`{name}`')} of {module.kind}"
            yield _lone(history, label, tensor, module.site)
    modules = history.program.modules
    children = [modules[key] for key in module.children.values() if key in modules]
    listed = module.kind in _CONTAINERS and any(
        learning.all_parameters(history, child) - idle for child in children
    )
    order = _order(history, children) if listed else []
    again, zipped = _in_place(order, children), _zipped(history, order, children)
    for child in children:
        unused = learning.all_parameters(history, child) <= idle
        if again is not None and unused:
            yield _replaced(history, child, again)
        elif zipped is not None and unused:
            yield _beyond(history, child, zipped)
        else:
            yield from _in_model(history, child, idle, optional or listed)


def _order(history: History, listed: list[Module]) -> list[ModuleCall]:
    """Return the calls of a list's layers in a pass, if they are the same in each.

    Where inputs pick some, as of experts, that is chance.
    """
    called = calls_of(history)
    runs = [call for key in {e.key for e in listed} for call in called.get(key, ())]
    turns = defaultdict[int | None, list[ModuleCall]](list)
    for call in sorted(runs, key=lambda each: each.index):
        turns[call.parent].append(call)
    orders = {tuple(each.module for each in calls) for calls in turns.values()}
    same = len(turns) >= _LEAST and len(orders) == 1
    return next(iter(turns.values())) if same else []


def _in_place(order: list[ModuleCall], listed: list[Module]) -> ModuleCall | None:
    """Return the second call of a layer that stands in for another one of its list.

    As many of the list run as it has, and one of them more than once.
    """
    met = set[int]()
    for call in order if len(order) == len(listed) else ():
        if call.module in met:
            return call
        met.add(call.module)
    return None


def _zipped(
    history: History, order: list[ModuleCall], listed: list[Module]
) -> Decision | None:
    """Return the ``zip`` that walks a list of layers, and ends before the last.

    Where the program says how many layers it wants, that is meant.
    """
    keys = [each.key for each in listed[: len(order)]]
    if not order or len(order) >= len(listed) or keys != [e.module for e in order]:
        return None
    where = spot(history, order[-1].site, order[-1].stack)
    called = where.node.func if where and isinstance(where.node, ast.Call) else None
    for each in () if where is None or called is None else path(where.at(called)):
        around = each.source.parent(each.node)
        if isinstance(around, ast.Call) and last_name(around.func) == "zip":
            parts = (e.slice for e in around.args if isinstance(e, ast.Subscript))
            meant = isinstance(each.node, ast.Subscript) or any(map(names_in, parts))
            return None if meant else decided(history, each.at(around), order[-1].site)
    return None


def _beyond(history: History, module: Module, zipped: Decision) -> Hit:
    fix = (
        "Walk as many entries as there are layers, and write `strict=True` to be told "
        "where they are not; or make fewer layers."
    )
    why = f"`{zipped.text}` ends before it, with the shortest of what it walks"
    called = Related("called here", zipped.made)
    return _left_out(history, module, why, zipped, fix, called)


def _replaced(history: History, module: Module, again: ModuleCall) -> Hit:
    other = history.program.modules[again.module]
    where = spot(history, again.site, again.stack)
    picked = None if where is None else picking(history, where)
    why = "as many layers of its list run in each pass as it has, but "
    why += f"`{other.name}` more than once"
    fix, line = (
        f"Pick `{module.name}` here in its turn.",
        Decision(picked or again.site),
    )
    called = Related("called once more here", again.site)
    return _left_out(history, module, why, line, fix, called)


def _left_out(
    history: History, module: Module, why: str, by: Decision, fix: str, called: Related
) -> Hit:
    tensors = learning.all_parameters(history, module)
    return Hit(
        f"`{module.name}` ({module.kind}) is never called: {why}. "
        f"{learning.listed(history, tensors)} "
        f"{learning.plural(len(tensors), 'gets', 'get')} no gradient.",
        by.site,
        fix,
        symptom=_last_pass(history),
        related=(called, Related("constructed here", module.site)),
        tensors=tuple(sorted(tensors)),
        severity=_severity(history, _is_installed(module.site)),
        line=by.line,
        certainty=0.7,
    )


def _hit(history: History, module: Module, tensors: set[int], optional: bool) -> Hit:
    called = calls_of(history).get(module.key, [])
    name = f"`{module.name}`" if module.name else f"a {module.kind}"
    fix = "Use it in `forward`, or remove it."
    if called:
        why, culprit, fix = _unused(history, called[-1], tensors, fix)
    else:
        why, culprit = "is never called", module.site
    count = len(history.backwards)
    passes = f"any of {count} backward passes" if count > 1 else "the backward pass"
    return Hit(
        f"{name} ({module.kind}) {why}: {learning.listed(history, tensors)} "
        f"{learning.plural(len(tensors), 'gets', 'get')} no gradient in {passes}.",
        culprit or module.site,
        fix,
        symptom=_last_pass(history),
        related=(Related("constructed here", module.site if called else None),),
        tensors=tuple(sorted(tensors)),
        severity=_severity(history, optional or _is_installed(module.site)),
        certainty=0.7,
    )


def _unused(
    history: History, call: ModuleCall, tensors: set[int], fix: str
) -> tuple[str, RawSite | None, str]:
    """Return what becomes of a result that no loss has, the line to change and how."""
    end = _end(history, tensors)
    if end is None:
        why = "is called, but nothing that is trained uses its result"
        fix = "Add what its result is for to the loss, or remove it."
        return why, call.site, fix
    why = f"is called, but its result ends in `{history.text(end.site)}`"
    loss = _loss_beside(history, end)
    if loss is None:
        return why, end.site, fix
    other = history.name(end.inputs[0], "that value")
    why += f", and {history.line(loss)} leaves {other} out of the loss"
    return why, loss, f"Add {other} to the loss here, or remove what computes it."


def _end(history: History, tensors: set[int]) -> Call | None:
    """Return the call that turned what the parameters gave into a plain choice."""
    uses = [call for each in tensors for call in history.uses(each)]
    read = next(filter(ends_graph, uses), None)
    uses = [call for call in uses if call.nodes]
    if not uses:
        return read
    later = ahead(history, uses[-1].outputs, _is_in_graph)
    return next((use for _, use in later if ends_graph(use)), None)


def _is_in_graph(_: Value, use: Call) -> bool:
    return any(each.requires_grad for each in use.outputs)


def _loss_beside(history: History, end: Call) -> RawSite | None:
    """Return the line of the loss that is walked, where another one is only read."""
    roots = [root for each in history.backwards[-1:] for root in each.roots]
    losses = [*end.inputs[:1], *roots[:1]]
    if len(losses) < 2 or any(each.shape or each.is_leaf for each in losses):
        return None
    made = history.last_producer(roots[0])
    return None if made is None else loop_site(history, made)


def _lone(history: History, label: str, tensor: int, owner: RawSite | None) -> Hit:
    made = learning.created_at(history, tensor) or owner
    end = _end(history, {tensor})
    why = "is not used in any loss"
    if end is not None:
        why = f"is used, but what it gives ends in `{history.text(end.site)}`"
    return Hit(
        f"{label} {why}: it gets no gradient in "
        f"any of {len(history.backwards)} backward passes.",
        made if end is None else end.site,
        "Use it in `forward`, or remove it.",
        symptom=_last_pass(history),
        related=(Related("made here", made if end else None),),
        tensors=(tensor,),
        severity=_severity(history, _is_installed(owner)),
        certainty=0.7,
    )


def _last_pass(history: History) -> RawSite | None:
    return history.backwards[-1].site if history.backwards else None


def _is_installed(site: RawSite | None) -> bool:
    """Tell whether a line belongs to a package that was installed, not written here."""
    return site is not None and bool(package_of(site[0].co_filename))


def _severity(history: History, optional: bool):
    return "info" if optional or len(learning.steps(history)) < 2 else "warning"
