"""Results that are never trained on are collected with their graphs.

What it does
    Finds results that a loop collects, each with its graph, although no backward pass
    ever starts from them: predictions, features or losses of an evaluation. Also those
    that were alive in the middle of the run, if their list is gone at its end: such as
    a replay buffer, from which losses take numbers.

Why is this bad
    Every result keeps the saved activations of its whole forward pass alive, so memory
    grows with every batch. Grad mode also costs time.

Example
    ::

        predictions = []
        for x in batches:
            predictions.append(net(x))

Use instead
    ::

        predictions = []
        with torch.no_grad():
            for x in batches:
                predictions.append(net(x))

When it stays quiet
    Where a backward pass reached them, or a loss took them as a target and they were
    not kept over several steps; for a single result, for what runs inside a call of the
    library that takes it apart again, as ``gradcheck`` does, and for a program that
    only runs forward passes in training mode and keeps one or two results.

References
    https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradviz.dependence.cuts import drops_graph
from gradviz.dependence.op_families import JOINS
from gradviz.diagnosis.decisions.sites import line_of
from gradviz.diagnosis.edits.statements import under_no_grad
from gradviz.diagnosis.edits.writes import kept_without_graph
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._kept import (
    behind_a_cut,
    holds_values,
    is_of_leaves,
    kept_by_half,
    put_away,
)
from gradviz.diagnosis.rules._lifetime import (
    graph_behind,
    is_of_gradients,
    keeps_nothing,
    loop_site,
    makers,
    name_of,
    outermost_module,
    passed_nodes,
)
from gradviz.program import Call, History, LiveRoot, RawSite


@rule("GV218", "eval-without-no-grad", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose results pile up with their graphs."""
    reported: set[object] = set()
    trained: dict[object, bool] = {}  # by line
    for found in (*_alive(history), *_let_go(history), *_half_way(history)):
        if any(call.within is not None for call in found.made):
            continue  # a library's call made them, for itself
        if is_of_leaves(history, found.made[-1]):
            continue
        made = _one_per_run(history, found.made)
        site = loop_site(history, made[-1])
        place = None if site is None else line_of(site)
        if place is None or place in reported or not _evaluation(history, made):
            continue
        line = _line(made[0])
        if line not in trained and not found.half_way:
            trained[line] = _trains(history, _of_line(history, made[0]))
        if found.half_way:
            passing = not holds_values(history, made)
        else:
            passing = trained[line] or not _keeps_values(history, made)
        if passing:
            continue
        reported.add(place)
        kept = put_away(history, made[-1])
        why = _because(history, found) if kept else None
        if kept and why:
            yield _of_store(history, made, kept, *why)
            continue
        held = f", held by `{found.holder}`" if found.holder else ""
        size = f" and {found.nbytes:,} bytes of saved tensors" if found.nbytes else ""
        derived = is_of_gradients(history, found.made)
        yield Hit(
            f"{len(made)} recorded results of {history.line(site)} keep their graphs"
            f"{size} alive{held}, and no backward pass ever starts from them.",
            site,
            f"Keep {_detached(history, made[-1])}: it is made of derivatives, so grad "
            "mode has to be on there."
            if derived
            else "Evaluate under `torch.no_grad()` (or `torch.inference_mode()`), or "
            f"keep {_detached(history, made[-1])}.",
            related=(
                Related("made here", made[-1].site),
                Related("kept here", kept and kept[0]),
            ),
            nodes=tuple(call.nodes[-1] for call in made if call.nodes),
            edit=None if derived else under_no_grad(site),
            certainty=0.6,  # graphs that nothing walks may also have been cut off
        )


@dataclass(frozen=True, slots=True)
class _Pile:
    """Results of one line that were kept, by the calls that made them."""

    made: list[Call]
    holder: str = ""
    nbytes: int = 0
    half_way: bool = False  # it was seen in the middle of the run


def _because(history: History, found: _Pile) -> tuple[str, str] | None:
    """Return why results are no evaluation's, and what to keep of them."""
    if is_of_gradients(history, found.made):
        why = "They are made of derivatives, so grad mode has to be on there."
        return why, "`.detach()` of each tensor, or `.item()`."
    if not found.half_way or not _taken_by_loss(history, found.made):
        return None
    why = "Memory grows, and the losses use only their values."
    return why, (
        "`.detach()` of each tensor. Or run what makes them under `torch.no_grad()`."
    )


def _of_store(
    history: History,
    made: list[Call],
    kept: tuple[RawSite, str, int],
    why: str,
    instead: str,
) -> Hit:
    """Tell of results whose graphs are kept with them, by the line that keeps them."""
    site, code, line = kept
    return Hit(
        f"`{code}` keeps the results of {history.line(made[-1].site)} with their "
        f"graphs ({len(made)} were seen), one more with each turn, and no backward "
        f"pass ever starts from them. {why}",
        site,
        f"Keep them without their graphs: {instead}",
        related=(Related("made here", made[-1].site),),
        nodes=tuple(call.nodes[-1] for call in made if call.nodes),
        edit=kept_without_graph(site, history.places.targets(made[-1].site), line),
        line=line,
        certainty=0.6,
    )


def _detached(history: History, made: Call) -> str:
    """Return what to keep in the place of a result."""
    name = name_of(history, made.outputs[0] if made.outputs else None, "")
    return f"`{name.strip('`')}.detach()`" if name else "each result detached"


def _line(call: Call) -> object:
    return None if call.site is None else (line_of(call.site), call.stack)


def _lines(history: History) -> dict[object, list[Call]]:
    found: dict[object, list[Call]] = defaultdict(list)
    for call in history.calls:
        if call.nodes and call.site is not None:
            found[line_of(call.site)].append(call)
    return found


def _of_line(history: History, made: Call) -> list[Call]:
    """Return the calls of a line that the callers of this one may have made."""
    calls = [] if made.site is None else history.once(_lines)[line_of(made.site)]
    return [each for each in calls if each.may_share_callers(made)]


def _alive(history: History) -> Iterator[_Pile]:
    """Yield what is alive with a graph at the end."""
    lines: dict[object, list[tuple[LiveRoot, Call]]] = defaultdict(list)
    found: list[tuple[LiveRoot, Call]] = []
    for root in history.program.live:
        call = history.call_at(root.call)
        call = call or history.once(makers).get(root.value.node or 0)
        if call is not None and call.site is not None:
            found.append((root, call))
    inner: set[int] = set()  # nodes that are no roots: another graph hangs on them
    for root, call in sorted(found, key=lambda row: -row[1].index):
        if root.value.node not in inner:
            lines[_line(call)].append((root, call))
            inner |= graph_behind(history, [call])
    for rows in lines.values():
        rows.reverse()
        holders = [holder for root, _ in rows for holder in root.holders]
        size = sum(root.saved_bytes for root, _ in rows)
        yield _Pile([call for _, call in rows], _container(holders), size)


def _container(holders: Sequence[str]) -> str:
    """Return ``preds`` for ``preds[0]`` and ``preds[1]``."""
    names = {each.partition("[")[0] for each in holders if "[" in each}
    return names.pop() if len(names) == 1 else ""


def _half_way(history: History) -> Iterator[_Pile]:
    """Yield what was alive half-way, where it need not be so at the end."""
    for calls in kept_by_half(history):
        yield _Pile(calls, half_way=True)


def _let_go(history: History) -> Iterator[_Pile]:
    """Yield what may be gone by now, but for the norms of gradients."""
    for pile in (*_joined(history), *_given_up(history)):
        if not is_of_gradients(history, pile.made):
            yield pile


def _joined(history: History) -> Iterator[_Pile]:
    """Yield what was collected and put together."""
    for join in history.calls:
        if join.op not in JOINS or not join.nodes or join.module is not None:
            continue
        lines: dict[object, list[Call]] = defaultdict(list)
        for value in join.inputs:
            maker = history.once(makers).get(value.node or 0)
            if maker is not None and maker.site is not None:
                lines[_line(maker)].append(maker)
        yield from map(_Pile, lines.values())


def _given_up(history: History) -> Iterator[_Pile]:
    """Yield what was collected before any of it was detached, read or decided on."""
    ends: dict[object, tuple[Call, int]] = {}
    for call in history.calls:
        maker = history.once(makers).get(call.inputs[0].node or 0) if call.inputs else 0
        if maker and maker.site is not None and drops_graph(call):
            ends.setdefault(_line(maker), (maker, call.index))
    for maker, end in ends.values():
        made = (e for e in _of_line(history, maker) if e.stack == maker.stack)
        yield _Pile([call for call in made if call.index < end])


def _one_per_run(history: History, made: list[Call]) -> list[Call]:
    """Keep one call of each run of the line: a module may return two results."""
    runs: dict[int, Call] = {}
    for call in made:
        module = outermost_module(history, call)
        runs[call.index if module is None else module.index] = call
    return list(runs.values())


def _trains(history: History, calls: list[Call]) -> bool:
    """Tell whether a backward pass walked nodes of these calls, or some behind them.

    Or was meant to, and a cut came in between; or a loss takes what they gave, as a
    target that is detached.
    """
    if not graph_behind(history, calls).isdisjoint(history.once(passed_nodes)):
        return True
    return _taken_by_loss(history, calls)


def _taken_by_loss(history: History, calls: list[Call]) -> bool:
    if any(behind_a_cut(history, call) for call in calls):
        return True
    taken = history.once(_taken)
    return any(value.tensor in taken for call in calls for value in call.outputs)


def _taken(history: History) -> set[int]:
    """Return the tensors that the losses of the run were computed from."""
    return history.behind([root for each in history.backwards for root in each.roots])


def _keeps_values(history: History, calls: list[Call]) -> bool:
    """Tell whether the graphs hold values: views of parameters keep none.

    Norms of all parameters that were computed in one go keep nothing but those.
    """
    first, last = calls[0].index, calls[-1].index
    if not any(first < each.index < last for each in history.backwards):
        return not keeps_nothing(history, calls)
    nodes = map(history.node, graph_behind(history, calls))
    return any(node.saved for node in nodes if node is not None)


def _evaluation(history: History, made: list[Call]) -> bool:
    """Tell whether these results are an evaluation's, judged with care."""
    runs = Counter(call.site for call in made)
    if max(runs.values()) < 2:  # each from an expression of its own: nothing piles up
        return False
    modules = [outermost_module(history, call) for call in made]
    if all(module is not None and not module.training for module in modules):
        return True
    if history.raised is not None:
        return False
    ended = history.program.script is not None and len(made) > 2
    return bool(history.backwards) or ended
