"""A sum over the iterations of a loop keeps the graphs of all of them.

What it does
    Finds a sum, a running mean, a growing tensor or a state that a loop adds to or
    carries on in every iteration and that no backward pass ever starts from: each
    iteration's graph hangs on it.

Why is this bad
    The number for the progress bar keeps the nodes, and without a backward pass the
    activations, of all iterations alive: memory grows until the epoch ends, or it does
    not.

Example
    ::

        for x, y in batches:
            loss = loss_fn(net(x), y)
            loss.backward()
            total += loss

Use instead
    ::

        for x, y in batches:
            loss = loss_fn(net(x), y)
            loss.backward()
            total += loss.item()

When it stays quiet
    Where a backward pass starts from the sum, in this or another iteration, where the
    loop runs without grad mode, or adds numbers, and for a norm of one pass's
    gradients.

References
    https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from gradviz.dependence import learning
from gradviz.dependence.lineage import reached
from gradviz.dependence.nesting import next_pass
from gradviz.dependence.op_families import words
from gradviz.diagnosis.decisions.sites import line_of, same_line
from gradviz.diagnosis.edits.statements import under_no_grad
from gradviz.diagnosis.edits.writes import added_without_graph
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._bindings import put_away_at
from gradviz.diagnosis.rules._kept import behind_a_cut, is_of_leaves
from gradviz.diagnosis.rules._lifetime import (
    is_of_gradients,
    keeps_nothing,
    loads,
    loop_site,
    made_at,
    makers,
    name_of,
    outermost_module,
    passed_nodes,
    rebound,
)
from gradviz.program import Call, History, ModuleCall, RawSite, Value, following

_TURNS = 8  # of a loop that is long: a few words are written with the graph of each
_LONG = 40  # characters
_MOST = 400  # runs of a line that are looked at, from the last
_NUMBERS = words("item __float__ tolist numpy detach __format__ __int__ cpu data.get")


@rule("GV217", "loss-accumulation-leak", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that lengthens a graph in vain."""
    sites: dict[RawSite, list[Call]] = defaultdict(list)
    for call in history.calls:
        grows = call.nodes and any(value.requires_grad for value in call.outputs)
        if grows and call.site is not None:
            sites[call.site].append(call)
    reported: set[object] = set()
    for calls in (each for same in sites.values() for each in _by_callers(same)):
        chain = _chain(history, calls)
        if len(chain) < 2 or chain[-1].site is None:
            continue
        if not any(_is_followed(history, each) for each in reversed(chain)):
            continue
        passed = history.once(passed_nodes)
        # A model's line runs for training, too: its graphs are told apart.
        same = sites[chain[-1].site] if chain[-1].module is None else chain
        alike = (each for each in same if each.may_share_callers(chain[-1]))
        if any(key in passed for call in alike for key in call.nodes):
            continue  # what a pass starts from, perhaps in another iteration
        place = line_of(chain[-1].site)
        if place not in reported and _in_vain(history, chain):
            reported.add(place)
            yield _hit(history, chain)


def _by_callers(calls: list[Call]) -> list[list[Call]]:
    """Return the runs of a line by the calls that led to it.

    Those of a step in brief, whose callers were not noted, are of the only ones.
    """
    found: dict[object, list[Call]] = defaultdict(list)
    callers = {call.stack for call in calls if call.stack}
    for call in calls:
        found[() if len(callers) == 1 else call.stack].append(call)
    return list(found.values())


def _is_followed(history: History, call: Call) -> bool:
    """Tell whether the log has the next pass after a call, with the graph it walked."""
    later = following(history.backwards, call.index)
    walked = next((each for each in later if each.api == "backward"), None)
    if walked is None:
        return history.is_whole(call.index, history.events[-1].index)
    whole = history.is_whole(call.index, walked.index)
    known = walked.whole or 0 < len(walked.nodes) == walked.node_count
    return whole and known and not walked.unusual


def _chain(history: History, calls: list[Call]) -> list[Call]:
    """Return the last calls of a line each of which took the one before it in."""
    chain = calls[-1:]
    for before in reversed(calls[-_MOST:-1]):
        if not _takes_in(history, chain[-1], before):
            continue  # of another tensor: the line keeps one per parameter, say
        if not _computes_between(history, before, chain[-1]):
            return []  # sum(losses): what piles up was made elsewhere
        chain.append(before)
    return chain[::-1]


def _takes_in(history: History, call: Call, before: Call) -> bool:
    """Tell whether a call's graph leads to an earlier run's through its own line."""
    made_by = history.once(makers)

    def onward(each: Call) -> list[Call | None]:
        older = each.index < before.index  # and so is all that it leads to
        own = not older and same_line(each.site, call.site)
        return [made_by.get(value.node or 0) for value in each.inputs if own]

    return before in reached([call], onward)


def _computes_between(history: History, one: Call, other: Call) -> bool:
    between = (history.call_at(index) for index in range(one.index + 1, other.index))
    return any(call is not None and call.nodes for call in between)


def _in_vain(history: History, chain: list[Call]) -> bool:
    """Tell whether the loop is a training or evaluation loop, not a forward pass."""
    for one, other in pairwise(chain):
        if any(one.index < each.index < other.index for each in history.backwards):
            return True
    last = chain[-1]
    if behind_a_cut(history, last):
        return False  # a cut keeps the pass from it: that is what is to be told
    if _counts_in_next_loss(history, last):
        return False  # as a constant; each pass has one of its own
    if last.module is not None:
        return _carried_by_model(history, chain)
    if keeps_nothing(history, chain) or is_of_leaves(history, last):
        return False
    if is_of_gradients(history, [last]):
        return False  # all of one pass: the norm of its gradients
    if any(use.op in _NUMBERS for use in history.uses(last.outputs[0].tensor)):
        return True
    one, other = _modules_behind(history, chain[0]), _modules_behind(history, last)
    if one and other and one.keys().isdisjoint(other):
        return False  # a sum over the layers of one forward pass
    if any(not other[key].training for key in one.keys() & other.keys()):
        return True
    ended = history.program.script is not None and history.raised is None
    if not ended or len(chain) < 3:
        return False
    alive = any(root.call == last.index for root in history.program.live)
    return alive or bool(history.backwards)


def _counts_in_next_loss(history: History, call: Call) -> bool:
    """Tell whether the loss of the next pass was computed with a call's result.

    Of a view, with anything in its memory, which its writes change.
    """
    following_pass = next_pass(history, call.index)
    if following_pass is None:
        return False
    behind = history.behind(following_pass.roots, following_pass.index)
    if any(each.tensor in behind for each in call.outputs):
        return True
    parts = {each.storage for each in call.outputs if each.is_view}
    seen = learning.last_seen(history) if parts else {}
    return any(each in seen and seen[each].storage in parts for each in behind)


def _carried_by_model(history: History, chain: list[Call]) -> bool:
    """Tell whether each turn of a long loop gives its state to a model in eval mode."""
    turns = {
        each.index: each
        for call in chain
        if (each := outermost_module(history, call)) is not None
    }
    return len(turns) >= _TURNS and not any(each.training for each in turns.values())


def _modules_behind(history: History, call: Call) -> dict[int, ModuleCall]:
    """Return the modules whose results a call adds to what its line had."""
    waiting, seen = [*call.inputs], set[int]()
    found: dict[int, ModuleCall] = {}
    while waiting and len(seen) < 64:
        maker = history.producer(waiting.pop())
        if maker is None or maker.index in seen or maker.site == call.site:
            continue
        seen.add(maker.index)
        module = outermost_module(history, maker)
        if module is None:
            waiting += maker.inputs
        else:
            found[module.module] = module
    return found


def _hit(history: History, chain: list[Call]) -> Hit:
    state = _state(history, chain[-1])
    if state is not None:
        return _of_state(history, chain, *state)
    site = chain[-1].site
    targets = history.places.targets(site)
    name = f"`{targets[0]}`" if targets else "This tensor"
    if not targets and chain[-1].writes:
        name = history.name(chain[-1].writes[0].value, name)
    other = _other(history, chain)
    code = _added(history, site) or (
        "value" if other is None else name_of(history, other, "value").strip("`")
    )
    source = None if other is None else made_at(history, other)
    source = None if source == site else source  # told already
    first, last = chain[0].index, chain[-1].index
    trains = any(first < each.index < last for each in history.backwards)
    is_number = math.prod(chain[-1].outputs[0].shape) == 1
    return Hit(
        f"Memory grows: {name} keeps the graph of everything that was ever added to "
        "it, one more each time that this line runs, and no backward pass ever starts "
        f"from {name}.",
        site,
        f"Add it without its graph: `{code}.detach()`"
        + (f", or as a number, `{code}.item()`" if is_number else "")
        + ("." if trains else "; or put the loop under `torch.no_grad()`."),
        edit=added_without_graph(site),
        related=(Related("what is added is made here", source),),
        nodes=chain[-1].nodes,
    )


def _state(history: History, call: Call) -> tuple[RawSite, str] | None:
    """Return the line that gives a model its state back, and the name of that.

    None where the model keeps its state itself.
    """
    if call.module is None or call.writes or _is_kept_inside(history, call):
        return None
    site = loop_site(history, call)
    name = rebound(history, site)
    return None if site is None or name is None else (site, name)


def _is_kept_inside(history: History, call: Call) -> bool:
    """Tell whether a line's result goes into what its own function reads again."""
    site = put_away_at(history, call.site) if call.site else None
    read = loads(None if site is None else history.places.function(site[0]))
    return not read.isdisjoint(history.places.targets(site))


def _of_state(history: History, chain: list[Call], site: RawSite, name: str) -> Hit:
    return Hit(
        f"Memory grows: `{name}` is carried through the loop with its graph, over "
        f"{len(chain)} recorded iterations, and no backward pass ever starts from "
        f"`{name}`.",
        site,
        f"Cut the graph in each iteration: `{name} = {name}.detach()` (of a tuple, "
        "each tensor in it); or run this line under `torch.no_grad()`.",
        related=(Related("made here", chain[-1].site),),
        nodes=chain[-1].nodes,
        edit=under_no_grad(site),
    )


def _added(history: History, site: RawSite | None) -> str:
    """Return what the line adds as it is written there; "" where that is long."""
    statement = history.places.statement(site)
    terms: list[ast.expr] = []
    if isinstance(statement, ast.AugAssign):
        terms = [statement.value]
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        terms = [statement.value.right, statement.value.left]
    targets = history.places.targets(site)
    for term in terms:
        text = ast.unparse(term)
        if len(text) > _LONG or text in targets:
            continue
        if isinstance(term, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            return text
        if isinstance(term, ast.BinOp):
            return f"({text})"
    return ""


def _other(history: History, chain: list[Call]) -> Value | None:
    """Return what the line adds: what comes to it from another line, with a graph."""
    call, made_by = chain[-1], history.once(makers)
    waiting, seen = list(call.inputs), set[int]()
    while waiting:
        value = waiting.pop()
        maker = made_by.get(value.node or 0)
        if maker is None or maker is chain[-2] or maker.index in seen:
            continue
        seen.add(maker.index)
        if not same_line(maker.site, call.site):
            return value
        waiting += maker.inputs
    return None
