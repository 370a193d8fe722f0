"""Answers about an exception: what the call that failed was given, and from where."""

from __future__ import annotations

from gradviz.answers.answer import Step, Why
from gradviz.answers.run import Run
from gradviz.diagnosis.rule import Hit
from gradviz.program import Backward, Call, Raised, Value
from gradviz.text.words import clip

QUESTIONS = ["operands"]

_LONGEST = 160  # characters of the exception's text
_FAR = 3  # operations told behind an operand


def answer(run: Run, raised: Raised) -> Why:
    """Return the chain of operands that ended in an exception."""
    text = clip(raised.text.strip().split("\n")[0], _LONGEST)
    name = f"{raised.kind}: {text}"
    failed = _failed(run, raised)
    steps: list[Step] = []
    if isinstance(failed, Call):
        steps += _operands(run, failed)
    elif isinstance(failed, Backward):
        steps += _in_pass(run, failed)
    verdict = f"{raised.kind} {run.at((failed or raised).site)}: {text}"
    code = ""
    for rule, hit in run.diagnosis.hits[:1]:
        if hit.explains:
            steps, code = _explained(run, steps, rule.code, hit)
    return Why(name, "error", "operands", verdict, tuple(steps), code)


def pass_raised(run: Run, backward: Backward) -> tuple[list[Step], str]:
    """Say that a pass raised and gave nothing; what explains that has the last word.

    Returns the steps, and the code of the finding that explains it.
    """
    words = f"The backward pass in {run.line(backward.site)} raised before it came."
    steps = [run.step("pass", words, event=backward, decision=True)]
    for rule, hit in run.diagnosis.hits[:1]:
        if hit.explains and hit.symptom == backward.site:
            return _explained(run, steps, rule.code, hit)
    return steps, ""


def _explained(
    run: Run, steps: list[Step], code: str, hit: Hit
) -> tuple[list[Step], str]:
    """Put the finding that explains an exception behind what is known of it."""
    same = any(s.decision and s.place == run.place(hit.culprit) for s in steps)
    if not same:
        steps = [run.undecided(each) for each in steps]
    words = f"{hit.message} ({code})"
    told = run.step("finding", words, hit.culprit, decision=not same)
    return [*steps, told], code


def _failed(run: Run, raised: Raised) -> Call | Backward | None:
    events = [*run.history.calls, *run.history.backwards]
    failed = [
        each
        for each in events
        if each.error is not None
        and each.index < raised.index
        and run.history.ended_by(each)
    ]
    return max(failed, key=lambda each: each.index, default=None)


def _operands(run: Run, call: Call) -> list[Step]:
    steps: list[Step] = []
    for place, value in enumerate(call.inputs, 1):
        words = f"Operand {place}{_named(run, value)} is {facts(value)}"
        maker = run.history.producer(value, call.index)
        known = run.history.program.tensors.get(value.tensor)
        made = known.made if known is not None and known.made is not None else None
        if made is None and maker is not None:
            made = maker.site
        where = f", made {run.at(made)}" if made is not None else ""
        steps.append(run.step("operand", f"{words}{where}.", made, value=value))
        steps += _behind(run, None if value.is_parameter else maker)
    return steps


def _behind(run: Run, maker: Call | None) -> list[Step]:
    """Tell what an operand was made of, as far as the shape or type changed."""
    steps: list[Step] = []
    for _ in range(_FAR):
        if maker is None or not maker.inputs:
            break
        source = maker.inputs[0]
        before = run.history.last_producer(source, maker.index)
        if before is None or before.index >= maker.index:
            break
        words = f"Before that{_named(run, source)} was {facts(source)}"
        words += f", made {run.at(before.site)}."
        steps.append(run.step("made", words, event=before, value=source))
        maker = before
    return steps


def _named(run: Run, value: Value) -> str:
    name = run.history.name(value, "")
    return f" {name}" if name else ""


def facts(value: Value) -> str:
    """Return shape, type, device and version of a tensor in words.

    >>> facts(Value(1, 1, 2, (3, 4), (4, 1), 0, "float32"))
    'float32 (3, 4) on cpu, at version 2'
    """
    version = f", at version {value.version}" if value.version else ""
    return f"{value.dtype} {value.shape} on {value.device}{version}"


def _in_pass(run: Run, backward: Backward) -> list[Step]:
    steps: list[Step] = []
    for root in backward.roots:
        maker = run.history.last_producer(root, backward.index)
        if maker is not None:
            words = f"The pass began at {run.history.name(root, 'a result')} of "
            words += f"{run.line(maker.site)}, {facts(root)}."
            steps.append(run.step("loss", words, event=maker, value=root))
    for stale in backward.stale:
        node = run.history.node(stale.node)
        if node is None or stale.node != (backward.error_node or stale.node):
            continue
        saved = run.history.name(stale.value, "a tensor")
        words = (
            f"{node.name} {run.at(node.site)} saved {saved} at version "
            f"{stale.value.version}; it is at version {stale.version_now}."
        )
        steps.append(run.step("operand", words, node.site, value=stale.value))
        maker = run.history.maker(node)
        since = -1 if maker is None else maker.index
        writes = run.graph.written_between(stale.value.storage, since, backward.index)
        for call in writes[:_FAR]:
            words = f"`{call.op}` wrote it {run.at(call.site)}."
            told = any(each.decision for each in steps)
            steps.append(run.step("write", words, event=call, decision=not told))
    freed = [run.history.node(each) for each in backward.freed[:1]]
    for node in freed:
        earlier = None if node is None else run.history.at(node.freed_by)
        if node is not None and earlier is not None:
            words = f"{node.name} {run.at(node.site)} was freed by the pass in "
            words += f"{run.line(earlier.site)}."
            steps.append(run.step("pass", words, event=earlier))
    return steps
