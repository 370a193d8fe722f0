"""One call turns all of a gradient into zeros, in every pass.

What it does
    Finds the call behind which the gradient of a parameter is exactly 0 in each pass,
    where a gradient reached that call: a product with a factor that rounding made 0, a
    softmax or a normalisation over a single element, a mask that lets nothing through,
    two ways whose gradients are opposite. Where an optimizer gets nothing but zeros,
    any call that makes them, a factor of 0, an empty selection and constants that are
    written over all of a result among them. Of one term of a loss: infinite values that
    were filled in and are all that a hinge is given.

Why is this bad
    The graph is whole, the parameter has a gradient, the optimizer steps, and nothing
    is learned. The parameter does not say where on the way the zeros began.

Example
    ::

        step = (times[1] - times[0]) // substeps  # integers: 1 // 4 is 0
        state = state + step * field(state)

Use instead
    ::

        step = (times[1] - times[0]) / substeps

When it stays quiet
    In any pass the parameter had another gradient; no optimizer steps it; a factor of 0
    that was given, not rounded, such as a weight that is still switched off, while
    others of the optimizer learn. A mask, a factor that follows from data (rewards may
    all be 0), and two opposite ways, are an information only; these are a warning where
    one of them sums over a dimension of one element.

References
    https://pytorch.org/docs/stable/generated/torch.floor_divide.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from gradviz.dependence import learning
from gradviz.dependence.axis_walk import over
from gradviz.dependence.flow import dimension, words
from gradviz.dependence.op_families import function_of, of_op, plain
from gradviz.dependence.terms import Account, Term
from gradviz.diagnosis.decisions.decision import of_setting
from gradviz.diagnosis.edits.numbers import divided_exactly
from gradviz.diagnosis.gradient_flow import all_zero, leaf_norms, without_gradient
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import any_nonzero
from gradviz.diagnosis.rules._origins import origin_call
from gradviz.diagnosis.rules._terms import in_all_passes
from gradviz.diagnosis.rules._terms import words as words_of
from gradviz.diagnosis.rules._zeros import Stop, Zero, filled_up, zero_at
from gradviz.program import Backward, Call, History, Node, NodeRun, RawSite, Value

_ROUNDING = words("floordiv floor_divide floor round trunc ceil fix long int short")
_MASKS = words("where masked_fill maximum minimum")
_SUMS = words("sum mean")
_FAR = 20  # calls from a factor back to the one that made it 0


@rule("GV508", "gradient-ends-in-zeros", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per call that stops the gradients of parameters."""
    wanted = learning.wanted(history)
    still = history.once(without_gradient)
    alone = _alone(history, still)
    behind: dict[tuple[int, ...], set[int]] = defaultdict(set)
    passes: dict[tuple[int, ...], Backward] = {}
    for leaf in still if wanted is None else still & wanted:
        got = (each for each in history.backwards if leaf in leaf_norms(history, each))
        backward = next(got)
        for nodes in _stops(history, backward, leaf):
            behind[nodes].add(leaf)
            passes[nodes] = backward
    for keys, leaves in sorted(behind.items()):
        nodes = [history.program.nodes[key] for key in keys]
        if len(nodes) > 1:
            yield from _cancelled(history, nodes, passes[keys], leaves)
        elif (call := history.maker(nodes[0])) and nodes[0].custom is None:
            stop = Stop(nodes[0], call, passes[keys], frozenset(leaves))
            yield from _hits(history, stop, bool(leaves & alone))
    told = {key for keys in behind for key in keys}
    yield from _constants(history, told)
    yield from _of_terms(history, told)


def _of_terms(history: History, told: set[int]) -> Iterator[Hit]:
    """Yield one hit per term that infinite values make a constant in every pass.

    A hinge that no pass reaches is only satisfied; of such a one nothing can be.
    """

    def is_idle(account: Account, term: Term) -> bool:
        return term.has_graph and term.weight != 0 and account.gives(term) is False

    for account, term in in_all_passes(history, is_idle):
        runs = {run.node: run for run in account.backward.runs}
        for node in account.nodes(term):
            run, call = runs.get(node.key), history.maker(node)
            if run is None or call is None or node.key in told:
                continue
            if not any_nonzero(run.incoming) or any_nonzero(run.outgoing):
                continue
            zero = filled_up(history, call)
            if zero is not None:
                yield _of_term(history, account, term, call, zero)


def _of_term(
    history: History, account: Account, term: Term, call: Call, zero: Zero
) -> Hit:
    leaves = account.leaves(term)
    return Hit(
        f"{history.quoted(call.site)} {zero.words}: {words_of(history, account, term)} "
        f"gives {learning.listed(history, leaves)} nothing but zeros, in every pass.",
        zero.site,
        zero.fix,
        symptom=account.backward.site,
        related=(Related("ends here", call.site), Related("the term", term.site)),
        nodes=call.nodes,
        tensors=tuple(sorted(leaves)),
        certainty=0.9,
    )


def _constants(history: History, told: set[int]) -> Iterator[Hit]:
    """Yield softmaxes that run over one element each time, beside other ones.

    Parameters behind them may still learn on another way.
    """
    lines: dict[RawSite | None, list[Call]] = defaultdict(list)
    for call in history.calls:
        if plain(call.op) == "softmax" and call.inputs and call.nodes:
            lines[call.site].append(call)
    for calls in lines.values():
        call = calls[-1]
        shape, place = call.inputs[0].shape, over(call)
        lone = all(each.inputs[0].shape[over(each)] == 1 for each in calls)
        known = told.intersection(each for one in calls for each in one.nodes)
        if not lone or known or prod(shape) == 1 or not history.backwards:
            continue
        chosen = of_setting(history, call, ("Softmax",), 0, ("dim",))
        yield Hit(
            f"`{history.text(call.site)}` runs over dimension {place} of {shape}, "
            "which has one element in every call: its result is 1 throughout, and no "
            "gradient goes back through it.",
            chosen.site,
            _over_another(shape),
            symptom=history.backwards[-1].site,
            line=chosen.line,
            related=(Related("runs here", call.site),),
            nodes=call.nodes,
            certainty=0.7,
        )


def _stops(history: History, backward: Backward, leaf: int) -> set[tuple[int, ...]]:
    """Return what made zeros of what came in, on all ways to a leaf.

    One node did, or several whose results cancel each other out before the leaf.
    """
    users: dict[int, list[tuple[NodeRun, int]]] = defaultdict(list)
    waiting: list[int] = []
    for run in backward.runs:
        node = history.node(run.node)
        if node is None:
            continue
        if node.leaf == leaf:
            waiting.append(run.node)
        for place, edge in enumerate(node.next):
            if edge is not None:
                users[edge[0]].append((run, place))
    found, met = set[tuple[int, ...]](), set(waiting)
    for key in waiting:
        given = {
            run.node for run, i in users[key] if any_nonzero(run.outgoing[i : i + 1])
        }
        if given and (key == waiting[0] or len(given) == 1):
            return set()  # a bias that both terms of a difference have; a hook
        if given:
            found.add(tuple(sorted(given)))
            continue
        for run, _ in users[key]:
            if any_nonzero(run.incoming):
                found.add((run.node,))
            elif run.node not in met:
                met.add(run.node)
                waiting.append(run.node)
    return found


def _cancelled(
    history: History, nodes: list[Node], backward: Backward, leaves: set[int]
) -> Iterator[Hit]:
    """Yield an information: of two scores that are compared, a shared part cancels."""
    first, *_, last = sorted(nodes, key=lambda each: each.call or 0)
    here, there = (history.quoted(each.site) for each in (first, last))
    hit = Hit(
        f"The gradient of {learning.listed(history, leaves)} is exactly 0 in every "
        f"pass: its parts through {here} and {there} cancel each other out.",
        first.site,
        "Detach one of the two ways; the log probability of a draw takes `sample()`, "
        "not `rsample()`.",
        symptom=backward.site,
        related=(Related("second part comes from here", last.site),),
        nodes=tuple(each.key for each in nodes),
        tensors=tuple(sorted(leaves)),
        severity="info",
        certainty=0.8,
    )
    lone = next(filter(None, (_sum_of_one(history, each) for each in nodes)), None)
    yield hit if lone is None else _over_one(history, hit, *lone)


def _sum_of_one(history: History, node: Node) -> tuple[Call, Call] | None:
    """Return a sum or mean over a dimension of one element, and what made that."""
    call = history.maker(node)
    if call is None or plain(call.op) not in _SUMS or not call.inputs:
        return None
    value, place = call.inputs[0], dimension(call)
    if place is None or not value.shape or value.shape[place] != 1:
        return None
    made = origin_call(history, value, lambda each: each.shape)
    return None if made is None else (call, made)


def _over_one(history: History, hit: Hit, call: Call, made: Call) -> Hit:
    """Tell of a sum that has nothing to add up, with the line that left it one."""
    return replace(
        hit,
        message=f"{history.quoted(call.site)} runs over dimension {dimension(call)} of "
        f"{call.inputs[0].shape}, which has one element, so it adds up nothing. "
        f"{hit.message}",
        culprit=made.site,
        fix="Give what is to be added up a dimension of its own: `torch.stack(…, "
        "dim=1)` in place of `torch.cat` and `unsqueeze`.",
        related=(Related("runs here", call.site), *hit.related),
        severity=None,
    )


def _alone(history: History, still: set[int]) -> set[int]:
    """Return the parameters of optimizers that get nothing but zeros."""
    trained, found = learning.trained(history), set[int]()
    for each in history.program.optimizers.values():
        mine = trained.intersection(each.tensors)
        if mine <= still:
            found |= mine
    return found


def _hits(history: History, stop: Stop, is_alone: bool) -> Iterator[Hit]:
    node, call, leaves = stop.node, stop.call, stop.leaves
    here = history.quoted(call.site)
    lost = (
        f"the gradient of {learning.listed(history, leaves)} is exactly 0 in every pass"
    )
    rounded = _rounded(history, call) if of_op(call.op) == "product" else None
    site, severity, related = call.site, None, ()
    zero = zero_at(history, stop) if is_alone else filled_up(history, call)
    if rounded is not None:
        what = (
            f"{history.quoted(rounded.site)} rounds to 0, and {here} multiplies with "
            f"it: {lost}."
        )
        fix = "Divide with `/`, and keep factors as floats."
        site, related = rounded.site, (Related("multiplied here", call.site),)
    elif _is_over_one(node, call):
        shape = node.shape or ()
        what = (
            f"{here} runs over a dimension of one element (shape {tuple(shape)}), so "
            f"its result is a constant: {lost}."
        )
        fix = _over_another(shape)
    elif function_of(node.name) in _MASKS and not (
        is_alone and plain(call.op) == "setitem"
    ):
        what = f"{here} lets nothing through, so {lost}."
        fix = "Check which side of its condition is taken."
        severity = "info"
    elif zero is not None:
        all_of_it = ", and its optimizer gets nothing else" if is_alone else ""
        what = f"{here} {zero.words}: {lost}{all_of_it}."
        site, fix, severity = zero.site, zero.fix, None if zero.is_given else "info"
        related = (Related("ends here", call.site),) if site != call.site else ()
    else:
        return
    yield Hit(
        what,
        site,
        fix,
        symptom=stop.backward.site,
        related=related,
        nodes=(node.key,),
        tensors=tuple(sorted(leaves)),
        severity=severity,
        edit=None if rounded is None else divided_exactly(rounded.site),
        certainty=0.8,
    )


def _over_another(shape: tuple[int, ...]) -> str:
    """Return which dimension to take; the first one is that of the batch.

    >>> _over_another((64, 24, 1))
    'Write `dim=1`: the 24 elements there are what there is to weigh.'
    """
    places = [i for i, size in enumerate(shape) if i and size > 1]
    if len(places) == 1:
        size = shape[places[0]]
        of = f"the {size} elements there are what there is to weigh"
        return f"Write `dim={places[0]}`: {of}."
    if places:
        among = learning.joined([f"`dim={each}`" for each in places])
        return f"Give it a dimension with more than one element: {among} have more."
    return "Use `sigmoid`, or give it more than one element to weigh."


def _rounded(history: History, call: Call) -> Call | None:
    """Return the call whose rounding made a factor of a product 0."""
    value = next(filter(all_zero, call.inputs), None)
    for _ in range(_FAR):
        made = None if value is None else history.producer(value, call.index)
        if made is None:
            return None
        value, call = next(filter(all_zero, made.inputs), None), made
        if value is None:
            return made if made.inputs and _rounds(made) else None
    return None


def _rounds(call: Call) -> bool:
    def is_whole(values: tuple[Value, ...]) -> bool:
        return any("int" in each.dtype for each in values)

    cast = is_whole(call.outputs) and not is_whole(call.inputs)
    return cast or plain(call.op) in _ROUNDING or "rounding_mode" in call.keywords


def _is_over_one(node: Node, call: Call) -> bool:
    """Return whether a softmax or a layer norm has one element to compare."""
    function, shape = function_of(node.name), node.shape or ()
    if "softmax" in function and shape:
        dim = dimension(call)
        if "cross_entropy" in call.op:
            dim = min(1, len(shape) - 1)
        return dim is not None and shape[dim] == 1
    if "layer_norm" in function and len(call.arguments) > 1:
        over = call.arguments[1]
        return isinstance(over, tuple | list) and prod(over) == 1  # pyright: ignore[reportUnknownArgumentType]
    return False
