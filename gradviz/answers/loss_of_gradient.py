"""The chain from a leaf to a loss, and the gates on it."""

from __future__ import annotations

from dataclasses import dataclass

from gradviz.answers.answer import Step
from gradviz.answers.run import Run
from gradviz.answers.words import gate_words
from gradviz.dependence.build import SURE, Kind
from gradviz.dependence.graph import Gate, Slice
from gradviz.program import Backward, Call

_MOST_TOLD = 3  # gates of one answer


_DECIDING = ("GV2", "GV3", "GV6", "GV8")  # families of rules about lost gradients
_BY_NATURE = ("index", "threshold", "cast")  # gates that nobody meant to be ways


@dataclass(frozen=True, slots=True)
class Lost:
    """How a leaf influences a root that gives it no gradient."""

    backward: Backward
    found: Slice
    gates: list[Gate]
    decision: Gate | None


def way_lost(run: Run, tensor: int, backward: Backward, root: int) -> Lost | None:
    """Return how a leaf influences a root; None where it does not."""
    found = run.graph.slice(tensor, root)
    if found is None or root == found.start:
        return None
    gates = run.graph.gates_of(found)
    return Lost(backward, found, gates, _decision(run, tensor, gates))


def _decision(run: Run, tensor: int, gates: list[Gate]) -> Gate | None:
    """Return the gate that takes the gradient.

    The one that a rule blames; else one on every way, nearest to the leaf.
    """
    hit = run.hit({tensor}, _DECIDING)
    blamed = "" if hit is None else run.place(hit[1].culprit)
    for gate in gates:
        if blamed and run.place(gate.place) == blamed:
            return gate
    near = [each for each in gates if each.near]
    chosen = [each for each in near if each.reason not in _BY_NATURE]
    choice = [each for each in near if each.every] or chosen or near or gates
    return choice[0] if choice else None


def lost(run: Run, tensor: int) -> Lost | None:
    """Return how a leaf influences the last root that depends on it.

    Passes that are known in full come before those that are not.
    """
    known = run.history.known_in_full
    others = set(run.history.backwards).difference(known)
    last_first = [*reversed(known), *sorted(others, key=lambda e: -e.index)]
    for backward in last_first:
        if backward.api != "backward":
            continue
        for root in run.graph.roots(backward):
            way = way_lost(run, tensor, backward, root)
            if way is not None:
                return way
    return None


def chain(run: Run, way: Lost, tensor: int) -> list[Step]:
    """Return the use, the gates and whom they keep from learning, as steps."""
    gate = way.decision
    steps = [_use(run, way, gate)]
    first = [each for each in way.gates if gate is None or not _later(each, gate)]
    for each in first[:_MOST_TOLD]:
        sentence = f"{_place(each, len(steps) == 1)} {gate_words(run, each)}."
        steps.append(
            run.step(
                "gate",
                sentence,
                each.place,
                event=each.call,
                value=each.operand,
                decision=each is gate,
            )
        )
    further = [each for each in way.gates if each not in first]
    for each in further[: _MOST_TOLD - len(first)]:
        words = f"After it, {gate_words(run, each)}."
        steps.append(run.step("gate", words, each.place, event=each.call))
    if gate is not None and gate.every:
        steps.append(_behind(run, gate, way, tensor))
    return steps


def _place(gate: Gate, is_first: bool) -> str:
    """Return how the sentence about a gate begins."""
    if gate.every:
        return "There" if is_first else "Again"
    return "On one of them" if is_first else "On another"


def _later(gate: Gate, decision: Gate) -> bool:
    """Tell whether a gate is one that only what passed the other meets."""
    return gate is not decision and not gate.near


def _use(run: Run, way: Lost, gate: Gate | None) -> Step:
    graph, found = run.graph, way.found
    to = found.root
    if gate is not None:
        made = [each for each in graph.made_by(gate.call) if each in found.between]
        to = made[0] if made else to
    path = graph.way(found, to)
    first = next((e for each in path[1:] if (e := graph.maker(each))), None)
    count = graph.ways(found)
    paths = "one path" if count == 1 else f"{count} paths"
    ways = f"along {paths if count < 100 else 'many paths'}"
    if found.tier & Kind.CONTROL:
        ways = "only through the branches that it decides"
    elif found.tier & ~SURE:
        ways = f"{ways}, as far as it can be followed through Python"
    where = "It"
    if isinstance(first, Call):
        where = f"It was used {run.at(first.site)} and"
    return run.step(
        "use",
        f"{where} influences {run.root_words(way.backward)} {ways}.",
        event=first,
    )


def _behind(run: Run, gate: Gate, way: Lost, tensor: int) -> Step:
    """Say how many parameters share the fate of one."""
    behind = parameters_behind(run, gate) - set(way.backward.leaves) | {tensor}
    everyone = set(run.learnable()) | behind
    count = f"{len(behind)} of {len(everyone)}"
    sentence = f"It keeps the gradient from {count} parameters."
    return run.step("state", sentence)


def parameters_behind(run: Run, gate: Gate) -> set[int]:
    """Return the parameters whose gradient would pass a gate."""
    graph = run.graph
    vertices = {
        edge.source
        for made in graph.made_by(gate.call)
        for edge in graph.sources(made)
        if edge.kind is Kind.CUT
    }
    behind = graph.behind(vertices, Kind.GRADIENT)
    values = (graph.value(each) for each in behind)
    return {each.tensor for each in values if each is not None and each.is_parameter}
