"""A loop carries a tensor on with the graph of an iteration that is over.

What it does
    Finds a tensor that a loop carries from one iteration to the next together with its
    graph, where the backward pass of the earlier iteration has freed that graph.

Why is this bad
    The backward pass of the next iteration walks on through the carried tensor into the
    graph of the iteration before, and fails there.

Example
    ::

        for x, y in batches:
            h = cell(x, h)
            loss_fn(h, y).backward()

Use instead
    ::

        for x, y in batches:
            h = cell(x, h.detach())
            loss_fn(h, y).backward()

When it stays quiet
    Where the state is detached at the border, or one pass covers the whole sequence.

References
    https://github.com/pytorch/examples/blob/main/word_language_model/main.py
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.dependence.flow import words
from gradviz.diagnosis.decisions.sites import site_at
from gradviz.diagnosis.edits.remedy import Remedy
from gradviz.diagnosis.edits.statements import bound_to_operand
from gradviz.diagnosis.edits.training import carried_cut
from gradviz.diagnosis.edits.writes import kept_without_graph
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._carried import (
    blended,
    carried_at,
    dropped_detach,
    kept_name,
    reads,
    reset_at,
    stored_at,
)
from gradviz.diagnosis.rules._freed import Crossing, SecondPass, second_passes
from gradviz.diagnosis.rules._lifetime import describe, loop_site
from gradviz.program import Call, History, RawSite

_ADDING = words("add add_ iadd __add__ __iadd__ radd __radd__")


@rule("GV203", "hidden-state-not-detached", "error")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per pass that entered the graph of an earlier iteration."""
    for found in history.once(second_passes):
        crossing = found.crossing
        if found.reason != "carried" or crossing is None:
            continue
        if _adds_up(found, crossing):
            yield _of_sum(history, found, crossing)
            continue
        lost = dropped_detach(history, crossing, found.second)
        if lost is not None:
            yield _of_dropped(history, found, crossing, lost)
            continue
        culprit = carried_at(history, crossing, found.second)
        bridged = crossing.bridge
        bridge = None if bridged is None else bridged.site
        use = None if bridged is None else loop_site(history, bridged)
        stored = bridged and stored_at(
            history, culprit, crossing, bridged, found.second
        )
        name, fix = _called(history, crossing, culprit, stored)
        yield Hit(
            f"{name} keeps its graph from an earlier iteration of the loop, which the "
            f"backward pass in {history.line(found.first.site)} has freed. "
            f"{_read_again(history, bridge, name, stored)}, so its pass runs "
            f"into the freed graph, at {describe(history, found.freed)}.",
            culprit,
            fix,
            symptom=found.second.site,
            related=(
                Related("used in the next iteration", bridge),
                Related("taken over", use if stored else None),
                Related("freed its graph", found.first.site),
                Related("freed by then", found.freed.site),
            ),
            nodes=(crossing.node.key, found.freed.key),
            explains=history.ended_by(found.second),
            edit=_edit(history, found, culprit, stored, name),
            line=stored or None,
        )


def _read_again(
    history: History, bridge: RawSite | None, name: str, stored: int | None
) -> str:
    """Return "In the next iteration line 44 reads what line 47 stored"."""
    what = f"what line {stored} stored" if stored else name
    what = "it" if what == "The carried tensor" else what
    if bridge is None:
        return f"The next iteration reads {what}"
    return f"In the next iteration {history.line(bridge)} reads {what}"


def _adds_up(found: SecondPass, crossing: Crossing) -> bool:
    """Tell whether the root of each pass is the root of the pass before, and more."""
    bridge, roots = crossing.bridge, {each.node for each in found.second.roots}
    return (
        bridge is not None
        and bridge.op in _ADDING
        and crossing.node.key in {each.node for each in found.first.roots}
        and bool(roots & {each.node for each in bridge.outputs})
    )


def _of_sum(history: History, found: SecondPass, crossing: Crossing) -> Hit:
    """Tell of a pass that starts at the sum of all iterations, whose graph it needs."""
    assert crossing.bridge is not None
    second, added = found.second, crossing.bridge.site
    name = history.name(second.roots[0], "the sum")
    terms = [e for e in crossing.bridge.inputs if e.node != crossing.node.key]
    loss = history.name(terms[0], "").strip("`") if len(terms) == 1 else ""
    fix = (
        "Call `backward()` on the loss of this iteration alone, and add it to "
        f"{name} as a number."
    )
    if loss:
        fix = f"Call `{loss}.backward()` here, and add `{loss}.item()` to {name}."
    return Hit(
        f"`{history.text(second.site)}` starts at {name}, to which each iteration adds "
        f"its loss ({history.line(added)}): so it also goes through the graphs of the "
        "iterations before, which their own passes have freed.",
        second.site,
        fix,
        symptom=second.site,
        related=(
            Related("added up here", added),
            Related("freed by then", found.freed.site),
        ),
        nodes=(crossing.node.key, found.freed.key),
        explains=history.ended_by(second),
    )


def _of_dropped(
    history: History, found: SecondPass, crossing: Crossing, lost: Call
) -> Hit:
    """Tell of a state that was to be detached, by a call whose result nothing takes."""
    text, bridge = history.text(lost.site), crossing.bridge
    name, site = text.rpartition(".")[0], lost.site
    is_read = site is not None and reads(history, bridge, site, name)
    again = history.line(bridge.site if bridge else found.second.site)
    return Hit(
        f"`{text}` gives a new tensor, and nothing takes it: `{name}` "
        f"keeps its graph, which the backward pass in {history.line(found.first.site)} "
        f"has freed. {again.capitalize()} reads the old tensor again, so the next pass "
        f"runs into the freed graph, at {describe(history, found.freed)}.",
        lost.site,
        f"Keep what it gives: `{name} = {text}`."
        if is_read
        else f"Keep what `{text}` gives under the name that {again} reads.",
        symptom=found.second.site,
        related=(
            Related("used in the next iteration", bridge and bridge.site),
            Related("freed its graph", found.first.site),
            Related("freed by then", found.freed.site),
        ),
        nodes=(crossing.node.key, found.freed.key),
        explains=history.ended_by(found.second),
        edit=bound_to_operand(site) if is_read else None,
    )


def _edit(
    history: History,
    found: SecondPass,
    culprit: RawSite | None,
    stored: int | None,
    name: str,
) -> Remedy | None:
    if blended(history, culprit, stored):
        return None  # what is new in it may have to keep its graph
    if stored:
        return kept_without_graph(site_at(history, culprit, stored), [name.strip("`")])
    bridge = found.crossing and found.crossing.bridge
    return carried_cut(history, culprit, found.second, bridge)


def _called(
    history: History, crossing: Crossing, culprit: RawSite | None, stored: int | None
) -> tuple[str, str]:
    """Return what the carried tensor is called, and what to write instead."""
    targets, maker = history.places.targets(culprit), history.maker(crossing.node)
    name, code = "The carried tensor", ""
    if targets:
        name, code = f"`{targets[-1]}`", targets[-1]
    elif maker is not None and maker.writes:
        name = history.name(maker.writes[0].value.tensor, name)
        return name, (
            "Write in place under `torch.no_grad()`, or write `.detach()` of it."
        )
    old = blended(history, culprit, stored)
    if old:
        return f"`{old}`", (
            f"Let the old value enter line {stored} as a constant: write "
            f"`{old}.detach()` where that line reads it."
        )
    if stored and (kept := kept_name(history, culprit, stored)):
        name, code = f"`{kept}`", kept
    if stored:
        what = f"`{code}.detach()`" if code else "each tensor detached"
        return name, (
            f"Keep {what} in line {stored}{_others(history, culprit, stored)}: later "
            "iterations need the values, not the graph."
        )
    method = reset_at(history, culprit, code) if code else None
    if method is not None:
        like = _as_elsewhere(history, culprit, method.name)
        return name, (
            f"Call `{method.name}()` (line {method.lineno}), which sets {name} anew, "
            f"before the model begins a new sequence{like}. If the values are to go "
            f"on: `{code} = {code}.detach()`."
        )
    cut = f"Cut the graph where one iteration ends: `{code} = {code}.detach()`"
    return name, (
        f"{cut if code else 'Detach it where one iteration ends'}, before "
        "the next iteration uses it (of a tuple, each tensor in it)."
    )


def _others(history: History, site: RawSite | None, line: int) -> str:
    """Return that a line is to keep all without a graph, where it keeps several."""
    for each in history.places.around(site, line):
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Tuple):
            return " (each of them)"
    return ""


def _as_elsewhere(history: History, site: RawSite | None, method: str) -> str:
    """Return ", as `net.reset()` in line 77 does", of one that resets the whole."""
    for each in history.places.in_file(site):
        match each:
            case ast.Call(ast.Attribute(ast.Name(owner), attr)) if attr == method:
                if owner != "self":
                    return f", as `{owner}.{method}()` in line {each.lineno} does"
            case _:
                pass
    return ""
