"""Answers about a parameter: its gradient, its changes, and what teaches it."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from gradviz.answers import terms, turning
from gradviz.answers.answer import Step, Why
from gradviz.answers.error import pass_raised
from gradviz.answers.loss_of_gradient import chain, lost
from gradviz.answers.run import Run
from gradviz.answers.words import never_called
from gradviz.dependence import learning
from gradviz.diagnosis.nonfinite import births
from gradviz.program import Backward, Call, OptimizerCall
from gradviz.text.words import counted, number

QUESTIONS = [
    "none",
    "nan",
    "zero",
    "unchanged",
    "large",
    "small",
    "learns",
    "optimizer",
]
"""What can be asked of a parameter, most pressing first."""

_OF_A_GRADIENT = ["nan", "zero", "large", "small", "learns"]

_MOST_LOSSES = 4
_TINY, _HUGE = 1e-7, 1e3  # of a gradient's norm, whatever the others have
_FAR = 1e4  # from the median of all gradients of a pass

_CODES = {
    "none": ("GV2", "GV3", "GV6", "GV8"),
    "zero": ("GV3", "GV5", "GV6", "GV8"),
    "unchanged": ("GV6", "GV1", "GV2"),
    "large": ("GV5", "GV6"),
    "small": ("GV5", "GV4"),
}
"""By question: the families of rules that answer it."""


def pressing(run: Run, tensor: int) -> str:
    """Return the question that a parameter's state asks first."""
    gradients = run.gradients(tensor)
    if not gradients.passes:
        return "none"
    came = [summary for _, summary in gradients.came]
    if any(each.bad for each in came):
        return "nan"
    if came and all(each.count == each.zeros for each in came):
        return "zero"
    if run.optimizers(tensor) and not run.updates(tensor):
        return "unchanged"
    return _size(run, tensor) or "learns"


def _size(run: Run, tensor: int) -> str:
    """Return "large" or "small" where a gradient is far from all others."""
    came = [each for each in run.gradients(tensor).came if each[1].norm is not None]
    if not came:
        return ""
    backward, summary = came[-1]
    norms = [norm for norm in run.norms(backward) if norm]
    usual = median(norms) if norms else 0.0
    norm = summary.norm or 0.0
    if norm > _HUGE or norm > _FAR * usual > 0:
        return "large"
    return "small" if 0 < norm < _TINY or 0 < norm < usual / _FAR else ""


def answer(run: Run, tensor: int, question: str) -> Why:
    """Answer one question about a parameter; a second time, the same."""
    known = run.known.get((tensor, question))
    if known is None:
        known = run.known[tensor, question] = _answered(run, tensor, question)
    return known


def _answered(run: Run, tensor: int, question: str) -> Why:
    name = run.name(tensor)
    if question == "none" and run.gradients(tensor).passes:
        return _healthy(run, tensor, name, question)
    missing = question in _OF_A_GRADIENT and not run.gradients(tensor).passes
    verdict, steps = _ANSWERS["none" if missing else question](run, tensor, name)
    steps, code = _with_finding(run, tensor, question, steps)
    return Why(name, "parameter", question, verdict, tuple(steps), code)


def _with_finding(
    run: Run, tensor: int, question: str, steps: list[Step]
) -> tuple[list[Step], str]:
    """Let the rule that has named the decision for this thing have the last word."""
    found = run.hit({tensor}, _CODES.get(question, ("GV none",)))
    if found is None:
        return steps, ""
    code, hit = found
    where, decided = run.place(hit.culprit), [each for each in steps if each.decision]
    if any(each.place == where for each in decided):
        return steps, code
    if decided and hit.severity == "info":
        return steps, ""
    if where and any(each.place == where for each in steps):
        blamed = next(each for each in steps if each.place == where)
        return [replace(each, decision=each is blamed) for each in steps], code
    steps = [run.undecided(each) for each in steps]
    sentence = f"{hit.message} ({code})"
    told = run.step("finding", sentence, hit.culprit, decision=hit.culprit is not None)
    return [*steps, told], code


# ---- no gradient -----------------------------------------------------------------


def _none(run: Run, tensor: int, name: str) -> tuple[str, list[Step]]:
    verdict = f"{name} has no gradient."
    value = run.last_value(tensor)
    if value is not None and not value.requires_grad:
        return verdict, _frozen(run, tensor)
    passes = [each for each in run.history.backwards if each.api == "backward"]
    if not passes:
        return verdict, [run.step("pass", "No backward pass ran.")]
    way = lost(run, tensor)
    if way is None:
        steps = _apart(run, tensor, passes)
    elif way.gates:
        steps = chain(run, way, tensor)
    else:
        steps = _walked_only(run, way.backward)
    return verdict, [*steps, *_unmoved(run, tensor)]


def _walked_only(run: Run, backward: Backward) -> list[Step]:
    """Say why a pass that could have given a gradient gave none."""
    if backward.error is not None:
        return pass_raised(run, backward)[0]
    if backward.inputs:
        words = (
            f"The backward pass in {run.line(backward.site)} was asked for other "
            "tensors only (`inputs=`)."
        )
    else:
        words = (
            f"It influences {run.root_words(backward)}, and the graph of the pass in "
            f"{run.line(backward.site)} does not hold it."
        )
    return [run.step("pass", words, event=backward, decision=True)]


def _frozen(run: Run, tensor: int) -> list[Step]:
    call = learning.freezing(run.history, tensor)
    if call is not None:
        words = f"`requires_grad` was switched off {run.at(call.site)}: it is frozen."
        return [run.step("state", words, event=call, decision=True)]
    facts = run.history.program.tensors.get(tensor)
    made = facts.made if facts is not None else None
    words = "It does not require grad, and did not when the recording began."
    return [run.step("state", words, made, decision=made is not None)]


def _apart(run: Run, tensor: int, passes: list[Backward]) -> list[Step]:
    """Say how a parameter missed every loss."""
    module = learning.module_of(run.history, tensor)
    if tensor in learning.copies(run.history) and (writes := run.updates(tensor)):
        words = (
            f"It is written from other parameters {run.at(writes[-1].site)}: a copy "
            "that follows them, and needs no gradient."
        )
        return [run.step("write", words, event=writes[-1])]
    uses = _uses(run, tensor)
    if not uses:
        if module is not None and not module.calls:
            return [never_called(run, module)]
        made = module.site if module is not None else None
        words = "No operation of the run took it in."
        return [run.step("use", words, made, decision=made is not None)]
    steps = [run.step("use", f"It was used {run.at(uses[-1].site)}.", event=uses[-1])]
    if uses[0].index > passes[-1].index:
        words = (
            f"The last backward pass ({run.line(passes[-1].site)}) was over by then."
        )
        return [*steps, run.step("pass", words, event=passes[-1], decision=True)]
    ends = run.graph.ends(run.graph.made_by(uses[-1]))
    maker = run.graph.maker(ends[-1]) if ends else None
    last = maker if isinstance(maker, Call) else uses[-1]
    words = (
        f"What was computed from it ends {run.at(last.site)}: no loss that a backward "
        "pass began at depends on that."
    )
    return [*steps, run.step("path", words, event=last, decision=True)]


def _uses(run: Run, tensor: int) -> list[Call]:
    """Return the calls that took a parameter in, to their results.

    Those before the last pass that is known in full, if there are such: what became of
    the results later may not be in the log.
    """
    known = run.history.known_in_full
    before = known[-1].index if known else -1
    uses = [e for e in run.history.uses(tensor) if e.outputs and not e.writes]
    return [each for each in uses if each.index < before] or uses


def _unmoved(run: Run, tensor: int) -> list[Step]:
    """Say that nothing changed a parameter, where optimizers stepped."""
    steps = len(learning.steps(run.history))
    if not steps or run.updates(tensor):
        return []
    return [run.step("state", f"It did not change in {counted(steps, 'step')}.")]


# ---- a gradient that is odd ------------------------------------------------------


def _zero(run: Run, tensor: int, name: str) -> tuple[str, list[Step]]:
    passes = run.gradients(tensor).passes
    verdict = (
        f"{name} has a gradient of zeros in {counted(len(passes), 'backward pass')}."
    )
    return verdict, turning.zero(run, tensor, passes[-1])


def _nan(run: Run, tensor: int, name: str) -> tuple[str, list[Step]]:
    bad = [(each, s) for each, s in run.gradients(tensor).came if s.bad]
    if not bad:
        return f"{name} has no NaN and no Inf in its gradients.", []
    backward, summary = bad[0]
    what = "NaN" if summary.nans else "Inf"
    verdict = f"{name} has {what} in its gradient since {run.line(backward.site)}."
    return verdict, _born(run, backward)


def _born(run: Run, backward: Backward) -> list[Step]:
    """Tell where the bad values of a pass came into the world."""
    earlier = [each for each in births(run.history) if each.hurts]
    found = [each for each in earlier if each.gradient or each.root] or earlier
    if not found:
        return [run.step("pass", "It came with this pass.", event=backward)]
    birth = found[0]
    what = "NaN" if birth.is_nan else "Inf"
    if birth.how == "derivative":
        words = f"The derivative of the operation {run.at(birth.site)} made the first "
        words += f"{what}."
    elif birth.how == "data":
        words = f"The first {what} was in the data {run.at(birth.site)}."
    else:
        words = f"The first {what} came out of the operation {run.at(birth.site)}."
    steps = [run.step("made", words, birth.site, event=birth.call, decision=True)]
    if birth.root is not None:
        words = f"It went into {run.root_words(birth.root)}, and back from there."
        steps.append(run.step("loss", words, event=birth.root))
    return steps


def _large(run: Run, tensor: int, name: str) -> tuple[str, list[Step]]:
    return _sized(run, tensor, name, "large")


def _small(run: Run, tensor: int, name: str) -> tuple[str, list[Step]]:
    return _sized(run, tensor, name, "small")


def _sized(run: Run, tensor: int, name: str, word: str) -> tuple[str, list[Step]]:
    came = [each for each in run.gradients(tensor).came if each[1].norm is not None]
    if not came:
        return f"{name} has no gradient whose size is known.", []
    backward, summary = came[-1]
    norms = run.norms(backward)
    is_so = _size(run, tensor) == word
    verdict = (
        f"{name} has a gradient of norm {number(summary.norm or 0.0)}; the median of "
        f"{counted(len(norms), 'parameter')} is {number(median(norms))}."
    )
    if not is_so:
        verdict = f"{name} has no {word} gradient: its norm is "
        verdict += f"{number(summary.norm or 0.0)}, the median {number(median(norms))}."
    return verdict, turning.size(run, tensor, backward, decide=is_so)


# ---- changes ---------------------------------------------------------------------


def _unchanged(run: Run, tensor: int, name: str) -> tuple[str, list[Step]]:
    held, updates = run.optimizers(tensor), run.updates(tensor)
    if updates:
        words = f"It was last written {run.at(updates[-1].site)}."
        found = [run.step("write", words, event=updates[-1])]
        return f"{name} did change: {counted(len(updates), 'write')}.", found
    verdict = f"{name} did not change."
    if not held:
        return verdict, [_held_by_none(run, tensor)]
    steps, holder = run.steps_of(held), _named(held[0].name, held[0].kind)
    if not steps:
        words = f"{holder} holds it and never stepped."
        return verdict, [run.step("step", words, held[0].site, decision=True)]
    count = f"{holder} holds it and took {counted(steps, 'step')}."
    told = [run.step("step", count, held[0].site)]
    if not run.gradients(tensor).passes:
        missing = run.step("state", "It never had a gradient to step along.")
        return verdict, [*told, missing, *_none(run, tensor, name)[1]]
    if _had_none(run, tensor):
        cleared = [e for e in run.history.of(OptimizerCall) if e.what == "zero_grad"]
        words = "Its gradient was gone whenever the optimizer stepped."
        place = cleared[-1] if cleared else None
        return verdict, [
            *told,
            run.step("step", words, event=place, decision=place is not None),
        ]
    words = "It had a gradient, and the steps left it as it was: a learning rate of 0?"
    return verdict, [*told, run.step("state", words, held[0].site, decision=True)]


def _had_none(run: Run, tensor: int) -> bool:
    states = [
        state
        for step in learning.steps(run.history)
        for state in step.states
        if state.tensor == tensor
    ]
    return bool(states) and not any(each.has_grad for each in states)


def _held_by_none(run: Run, tensor: int) -> Step:
    """Say that no optimizer holds a parameter, and which holds the nearest to it."""
    known = list(run.history.program.optimizers.values())
    if not known:
        return run.step("step", "No optimizer was made, and no line wrote to it.")
    name = run.name(tensor, "").split(".")
    near = {
        each.key: max((_shared(name, run.name(t, "")) for t in each.tensors), default=0)
        for each in known
    }
    best = max(known, key=lambda each: near[each.key])
    words = "No optimizer holds it: "
    if near[best.key]:
        within = ".".join(name[: near[best.key]])
        words += f"{_named(best.name, best.kind)} was given others of `{within}`."
    else:
        names = learning.joined(_named(each.name, each.kind) for each in known[:3])
        words += f"{names} {learning.plural(len(known), 'was', 'were')} given others."
    return run.step("step", words, best.site, decision=True)


def _shared(name: list[str], other: str) -> int:
    """Return how many parts two dotted names share, from the first on."""
    count = 0
    for mine, theirs in zip(name[:-1], other.split("."), strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _named(name: str | None, kind: str) -> str:
    return f"`{name}` ({kind})" if name else f"The {kind}"


def _optimizer(run: Run, tensor: int, name: str) -> tuple[str, list[Step]]:
    held = run.optimizers(tensor)
    if not held:
        return f"{name} is in no optimizer.", [_held_by_none(run, tensor)]
    steps = [
        run.step(
            "step",
            f"{_named(each.name, each.kind)} of {run.line(each.site)} took "
            f"{counted(run.steps_of([each]), 'step')}.",
            each.site,
        )
        for each in held
    ]
    return f"{name} is held by {counted(len(held), 'optimizer')}.", steps


# ---- what it learns from ---------------------------------------------------------


def _learns(run: Run, tensor: int, name: str) -> tuple[str, list[Step]]:
    why = _healthy(run, tensor, name, "learns")
    return why.verdict, list(why.steps)


def _healthy(run: Run, tensor: int, name: str, question: str) -> Why:
    gradients = run.gradients(tensor)
    by_line: dict[str, list[Backward]] = {}
    for each in gradients.passes:
        by_line.setdefault(run.root_line(each), []).append(each)
    total = len([each for each in run.history.backwards if each.api == "backward"])
    verdict = (
        f"{name} has a gradient: {len(gradients.passes)} of "
        f"{counted(total, 'backward pass')} reached it."
    )
    steps: list[Step] = []
    for passes in list(by_line.values())[:_MOST_LOSSES]:
        steps.append(_lesson(run, tensor, passes))
        steps += terms.of_parameter(run, passes[-1], tensor)
    steps += _last_norm(run, tensor)
    if run.optimizers(tensor) and (updates := run.updates(tensor)):
        times = counted(len(updates), "time")
        words = f"It changed {times}, last {run.at(updates[-1].site)}."
        steps.append(run.step("write", words, event=updates[-1]))
    elif not run.optimizers(tensor) and run.history.program.optimizers:
        steps.append(run.undecided(_held_by_none(run, tensor)))
    return Why(name, "parameter", question, verdict, tuple(steps))


def _lesson(run: Run, tensor: int, passes: list[Backward]) -> Step:
    last = passes[-1]
    words = run.root_words(last)
    roots = run.graph.roots(last)
    ways = run.graph.gradient_paths(tensor, roots[0]) if roots else 0
    on = "" if ways == 0 else " along one path" if ways == 1 else f" along {ways} paths"
    on = on if ways < 100 else " along many paths"
    return run.step(
        "loss",
        f"It learns from {words}{on} ({counted(len(passes), 'pass')}).",
        event=last,
        value=last.roots[0] if last.roots else None,
    )


def _last_norm(run: Run, tensor: int) -> list[Step]:
    came = [each for each in run.gradients(tensor).came if each[1].norm is not None]
    if not came:
        return []
    backward, summary = came[-1]
    words = f"The last gradient had the norm {number(summary.norm or 0.0)}."
    return [run.step("pass", words, event=backward)]


_ANSWERS = {
    "none": _none,
    "zero": _zero,
    "nan": _nan,
    "large": _large,
    "small": _small,
    "unchanged": _unchanged,
    "optimizer": _optimizer,
    "learns": _learns,
}
