"""GV218 eval-without-no-grad.

What it does
    Finds results that a loop collects, each with its graph, although no backward pass
    ever starts from them: predictions, features or losses of an evaluation.

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
    Where a backward pass reached them, for a single result, and for a program that only
    runs forward passes in training mode and keeps one or two results.

References
    https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.diagnosis.rules._lifetime import (
    last_raised,
    line_of,
    loop_site,
    outermost_module,
)
from gradviz.program.events import Backward, Call
from gradviz.program.history import History
from gradviz.program.records import LiveRoot

_JOINS = frozenset(["cat", "stack", "concat", "concatenate", "hstack", "vstack"])


def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line whose results pile up with their graphs."""
    reported: set[object] = set()
    for made, holder, nbytes in (*_alive(history), *_joined(history)):
        site = loop_site(history, made[-1])
        place = None if site is None else line_of(site)
        if place is None or place in reported or not _evaluation(history, made):
            continue
        reported.add(place)
        held = f", held by `{holder}`" if holder else ""
        size = f" and {nbytes:,} bytes of saved tensors" if nbytes else ""
        yield Hit(
            f"{len(made)} results of {history.line(site)} keep their graphs{size} "
            f"alive{held}, and no backward pass ever starts from them.",
            site,
            "Evaluate under torch.no_grad() (or torch.inference_mode()), or keep "
            "out.detach().",
            related=(Related("made here", made[-1].site),),
            nodes=tuple(call.nodes[-1] for call in made if call.nodes),
        )


def _alive(history: History) -> Iterator[tuple[list[Call], str, int]]:
    """Yield the calls, of one line each, whose results are alive with a graph."""
    lines: dict[object, list[tuple[LiveRoot, Call]]] = defaultdict(list)
    for root in history.program.live:
        node = history.node(root.value.node)
        call = history.call_at(root.call)
        if call is None and node is not None:
            call = history.maker(node)
        if call is not None and call.site is not None:
            lines[line_of(call.site), call.stack].append((root, call))
    for rows in lines.values():
        rows.sort(key=lambda row: row[1].index)
        holders = [holder for root, _ in rows for holder in root.holders]
        size = sum(root.saved_bytes for root, _ in rows)
        yield [call for _, call in rows], _container(holders), size


def _container(holders: Sequence[str]) -> str:
    """Return ``preds`` for ``preds[0]`` and ``preds[1]``."""
    names = {each.partition("[")[0] for each in holders if "[" in each}
    return names.pop() if len(names) == 1 else ""


def _joined(history: History) -> Iterator[tuple[list[Call], str, int]]:
    """Yield the calls of one line whose results were collected and put together."""
    passed: set[int] | None = None
    for join in history.calls:
        if join.op not in _JOINS or not join.nodes or join.module is not None:
            continue
        lines: dict[object, list[Call]] = defaultdict(list)
        for value in join.inputs:
            node = history.node(value.node)
            maker = None if node is None else history.maker(node)
            if maker is not None and maker.site is not None:
                lines[line_of(maker.site), maker.stack].append(maker)
        if passed is None:
            passed = {key for each in history.backwards for key in each.nodes}
        for makers in lines.values():
            if not passed.intersection(key for call in makers for key in call.nodes):
                yield makers, "", 0


def _evaluation(history: History, made: list[Call]) -> bool:
    """Tell whether these results are an evaluation's, judged with care."""
    if len(made) < 2:
        return False
    modules = [outermost_module(history, call) for call in made]
    if all(module is not None and not module.training for module in modules):
        return True
    if last_raised(history) is not None:
        return False
    between = range(made[0].index, made[-1].index)
    if any(each.index in between for each in history.of(Backward)):
        return True
    return bool(history.backwards) or len(made) > 2


RULE = Rule("GV218", "eval-without-no-grad", "warning", check)
