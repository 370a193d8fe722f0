"""Answers about a tensor: its graph, who wrote and read it, its memory, its holders."""

from __future__ import annotations

from gradviz.answers.answer import Step, Why
from gradviz.answers.run import Run
from gradviz.answers.words import gate_at, gate_words
from gradviz.dependence import learning
from gradviz.dependence.build import Kind
from gradviz.diagnosis._words import begun_large
from gradviz.diagnosis.nonfinite import births
from gradviz.program import Call, Event, Value
from gradviz.text.words import counted, size

QUESTIONS = [
    "requires_grad",
    "nan",
    "gradient",
    "writes",
    "readers",
    "shares",
    "alive",
    "made",
]
"""What can be asked of a tensor."""

_MOST_TOLD = 4  # reads or writes
_ITEM = {"float64": 8, "int64": 8, "float16": 2, "bfloat16": 2, "bool": 1, "uint8": 1}


def pressing(run: Run, tensor: int) -> str:
    """Return the question that a tensor's state asks first."""
    value = _value(run, tensor)
    if value is None:
        return "made"
    if value.summary is not None and value.summary.bad:
        return "nan"
    if not value.requires_grad and "float" in value.dtype and _cuts(run, tensor):
        return "requires_grad"
    return "made"


def answer(run: Run, tensor: int, question: str) -> Why:
    """Answer one question about a tensor."""
    name, value = run.name(tensor), _value(run, tensor)
    if value is None:
        verdict = f"{name} was met by no operation of the run."
        return Why(name, "tensor", question, verdict)
    verdict, steps = _ANSWERS[question](run, value, name)
    return Why(name, "tensor", question, verdict, tuple(steps))


def _value(run: Run, tensor: int) -> Value | None:
    vertices = run.graph.vertices(tensor)
    return run.last_value(tensor) or (
        run.graph.value(vertices[-1]) if vertices else None
    )


def _maker(run: Run, tensor: int) -> Event | None:
    vertices = run.graph.vertices(tensor)
    return run.graph.maker(vertices[0]) if vertices else None


# ---- its graph -----------------------------------------------------------------------


def _cuts(run: Run, tensor: int) -> list[tuple[int, int]]:
    """Return the nearest places behind a tensor where its graph was cut: vertices."""
    graph, found = run.graph, list[tuple[int, int]]()
    waiting, seen = graph.vertices(tensor)[-1:], set[int]()
    for vertex in waiting:
        for edge in graph.sources(vertex):
            if edge.kind is Kind.CUT:
                found.append((edge.source, vertex))
            elif edge.source not in seen and edge.kind is not Kind.UPDATE:
                seen.add(edge.source)
                waiting.append(edge.source)
    return found


def _requires_grad(run: Run, value: Value, name: str) -> tuple[str, list[Step]]:
    if value.requires_grad:
        what = "is a leaf" if value.is_leaf else "has a graph"
        return f"{name} requires grad: it {what}.", _made_steps(run, value)
    verdict = f"{name} does not require grad."
    freezing = learning.freezing(run.history, value.tensor)
    if freezing is not None:
        words = f"`requires_grad` was switched off {run.at(freezing.site)}."
        return verdict, [run.step("state", words, event=freezing, decision=True)]
    steps = _lost(run, value)
    if steps:
        return verdict, steps
    if value.dtype and "float" not in value.dtype and "complex" not in value.dtype:
        words = f"Its elements are {value.dtype}: only floating point has derivatives."
        return verdict, [run.step("state", words), *_made_steps(run, value)]
    words = "Nothing that it was computed from requires grad."
    return verdict, [*_made_steps(run, value), run.step("state", words)]


def _lost(run: Run, value: Value) -> list[Step]:
    """Tell where the graphs behind a tensor were cut, nearest first."""
    steps: dict[str, Step] = {}
    for source, vertex in _cuts(run, value.tensor)[:_MOST_TOLD]:
        event, operand = run.graph.maker(vertex), run.graph.value(source)
        if event is None or operand is None:
            continue
        made = _maker(run, operand.tensor)
        if not steps and made is not None and not operand.is_leaf:
            called = run.history.name(operand, "What it was made of,")
            words = f"{called} {run.at(made.site)} still had a graph."
            steps["made"] = run.step("made", words, event=made, value=operand)
        gate = gate_at(run, event, operand)
        words = begun_large(gate_words(run, gate))
        told = any(each.decision for each in steps.values())
        steps.setdefault(
            run.place(gate.place),
            run.step(
                "gate",
                f"{words}.",
                gate.place,
                event=event,
                value=operand,
                decision=not told,
            ),
        )
    return list(steps.values())


def _gradient(run: Run, value: Value, name: str) -> tuple[str, list[Step]]:
    if not value.requires_grad:
        return _requires_grad(run, value, name)
    if value.is_leaf:
        count = len(run.gradients(value.tensor).passes)
        reached = counted(count, "backward pass")
        return f"{name} is a leaf, and {reached} reached it.", _made_steps(run, value)
    calls = run.history.uses(value.tensor)
    kept = [each for each in calls if each.op in ("retain_grad", "retains_grad")]
    if kept:
        words = f"`retain_grad()` was called {run.at(kept[0].site)}."
        return f"{name} keeps its gradient.", [run.step("state", words, event=kept[0])]
    words = "A pass hands its gradient on and keeps it only after `retain_grad()`."
    told = [*_made_steps(run, value), run.step("state", words)]
    return f"{name} is no leaf, so its `.grad` stays None.", told


def _nan(run: Run, value: Value, name: str) -> tuple[str, list[Step]]:
    summary = value.summary
    if summary is None or not summary.bad:
        return f"{name} has no NaN and no Inf, as far as it was looked at.", []
    verdict = f"{name} holds {_bad_words(summary.nans, summary.infs)}."
    behind = run.graph.behind(run.graph.vertices(value.tensor))
    inside = {v.tensor for each in behind if (v := run.graph.value(each)) is not None}
    for birth in births(run.history):
        if birth.value is not None and birth.value.tensor in inside:
            words = f"The first came out of the operation {run.at(birth.site)}."
            step = run.step(
                "made", words, birth.site, event=birth.call, value=birth.value,
                decision=True,
            )  # fmt: skip
            return verdict, [step]
    return verdict, _made_steps(run, value)


def _bad_words(nans: int, infs: int) -> str:
    parts = [f"{nans} NaN"] * bool(nans) + [f"{infs} Inf"] * bool(infs)
    return " and ".join(parts)


# ---- its memory ----------------------------------------------------------------------


def _made(run: Run, value: Value, name: str) -> tuple[str, list[Step]]:
    shape = f"{value.dtype} {value.shape} on {value.device}"
    graph = "with a graph" if value.node is not None else (
        "a leaf" if value.requires_grad else "without a graph"
    )  # fmt: skip
    verdict = f"{name} is {shape}, {graph}."
    steps = _made_steps(run, value)
    for tell in (_writes, _readers, _shares):
        told = tell(run, value, name)[1]
        steps += [each for each in told if each.kind != "made"][:1]
    return verdict, steps


def _made_steps(run: Run, value: Value) -> list[Step]:
    maker = _maker(run, value.tensor)
    if maker is None:
        facts = run.history.program.tensors.get(value.tensor)
        made = None if facts is None else facts.made
        words = "It was there before the recording began."
        if made is not None:
            words = f"It was made {run.at(made)}."
        return [run.step("made", words, made)]
    given = maker.inputs if isinstance(maker, Call) else ()
    names = [each for v in given if (each := run.history.name(v, ""))]
    of = f" of {learning.joined(dict.fromkeys(names))}" if names else ""
    words = f"It was made {run.at(maker.site)}{of}."
    return [run.step("made", words, event=maker, value=value)]


def _writes(run: Run, value: Value, name: str) -> tuple[str, list[Step]]:
    calls = [call for call, _ in run.history.writes(value.storage)]
    if not calls:
        return f"{name} was never written in place.", _made_steps(run, value)
    steps: list[Step] = []
    for call in dict.fromkeys(calls[-_MOST_TOLD:]):
        through = next(w.value for w in call.writes if w.storage == value.storage)
        other = through.tensor != value.tensor
        by = f" through {run.history.name(through, 'another tensor')}" if other else ""
        after = run.graph.readers_after(value.storage, call.index)
        words = f"`{call.op}`{by} wrote it {run.at(call.site)}"
        words += f"; {counted(len(after), 'operation')} read it after that."
        steps.append(run.step("write", words, event=call, value=through))
    return f"{name} was written {counted(len(calls), 'time')} in place.", steps


def _readers(run: Run, value: Value, name: str) -> tuple[str, list[Step]]:
    vertices = run.graph.vertices(value.tensor)
    maker = run.graph.maker(vertices[0]) if vertices else None
    since = -1 if maker is None else maker.index
    calls = [
        call
        for call in run.graph.readers_after(value.storage, since)
        if all(write.storage != value.storage for write in call.writes)
    ]
    if not calls:
        return f"{name} was read by no operation.", []
    by_place = {each.site: each for each in reversed(calls)}
    last = list(reversed(by_place.values()))[:_MOST_TOLD]
    steps = [
        run.step("read", f"`{call.op}` read it {run.at(call.site)}.", event=call)
        for call in last
    ]
    return f"{name} was read {counted(len(calls), 'time')}.", steps


def _shares(run: Run, value: Value, name: str) -> tuple[str, list[Step]]:
    others = run.graph.aliases(value)
    if not others:
        return f"{name} shares its memory with no other tensor.", []
    steps: list[Step] = []
    for other in others[:_MOST_TOLD]:
        maker = _maker(run, other.tensor)
        named = run.history.name(other, "A tensor without a name")
        made = f", made {run.at(maker.site)}" if maker is not None else ""
        words = f"{named}{made}, looks into the same memory."
        steps.append(run.step("share", words, event=maker, value=other))
    count = counted(len(others), "other tensor")
    return f"{name} shares its memory with {count}.", steps


def _alive(run: Run, value: Value, name: str) -> tuple[str, list[Step]]:
    held = run.graph.holders(value)
    count = 1
    for each in value.shape:
        count *= each
    nbytes = size(count * _ITEM.get(value.dtype, 4))
    if not held:
        return f"Nothing that was recorded keeps {name} ({nbytes}) alive.", []
    steps = [run.step("hold", f"It is held by {each}.") for each in held[:_MOST_TOLD]]
    return f"{name} ({nbytes}) is kept alive by {counted(len(held), 'holder')}.", steps


_ANSWERS = {
    "requires_grad": _requires_grad,
    "gradient": _gradient,
    "nan": _nan,
    "made": _made,
    "writes": _writes,
    "readers": _readers,
    "shares": _shares,
    "alive": _alive,
}
