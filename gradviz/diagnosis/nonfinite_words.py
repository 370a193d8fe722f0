"""What a finding says of a NaN or Inf: where, from which operands, what came of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from gradviz.diagnosis._words import in_code
from gradviz.diagnosis.edits.calls import operand_text
from gradviz.diagnosis.edits.remedy import Remedy
from gradviz.diagnosis.nonfinite import Birth
from gradviz.diagnosis.nonfinite_kinds import Kind, of_kind
from gradviz.diagnosis.rule import Hit, Related, Rule, Severity
from gradviz.program import Call, History, RawSite, Summary, Value
from gradviz.text.places import package_of

_SEVERAL = 2  # passes, before it is told which one

_NONFINITE = re.compile(r"\b(nan|inf)\b", re.IGNORECASE)


class Told(NamedTuple):
    """What a finding says of a birth."""

    message: str  # how it came to be
    fix: str
    edit: Remedy | None = None


def birth_rule(
    code: str, slug: str, kind: Kind
) -> Callable[[Callable[[History, Birth], Told]], Rule]:
    """Make a rule of what to say of births of one kind: what happened, and the fix."""

    def of(told: Callable[[History, Birth], Told]) -> Rule:
        def check(history: History) -> Iterator[Hit]:
            for birth in of_kind(history, kind):
                words = told(history, birth)
                found = hit(history, birth, words.message, words.fix)
                yield replace(found, edit=words.edit)

        return Rule(code, slug, "error", check)

    return of


def hit(
    history: History,
    birth: Birth,
    message: str,
    fix: str,
    culprit: RawSite | None = None,
    line: int | None = None,
) -> Hit:
    """Return the finding for a birth; the message says how it came to be."""
    site = culprit or birth.site
    turned = birth.turned_nan
    related = [Related("NaN from here on", turned.site)] if turned is not None else []
    if site is not birth.site:
        put_in = birth.chosen or birth.how == "data"
        role = "put in here" if put_in else f"{kind_of(birth)} from here on"
        related = [Related(role, birth.site)]
    if birth.root is not None:
        related.append(Related("the loss is not finite here", birth.root.site))
    if birth.poisoned is not None:
        related.append(Related("written into parameters here", birth.poisoned.site))
    return Hit(
        message=" ".join(
            filter(None, [message, consequence(history, birth), when(history, birth)])
        ),
        culprit=site,
        line=line,
        fix=fix,
        symptom=_symptom(birth),
        related=tuple(each for each in related if each.site not in (None, site)),
        nodes=_nodes(birth),
        tensors=(birth.value.tensor,) if birth.value is not None else (),
        severity=_severity(birth),
        explains=_raised(history, birth),
        certainty=_certainty(birth),
    )


def _nodes(birth: Birth) -> tuple[int, ...]:
    """Return the node that gave the first bad value, in the very step that did."""
    if birth.node is not None:
        return (birth.node.key,)
    value = birth.value
    return () if value is None or value.node is None else (value.node,)


def _severity(birth: Birth) -> Severity:
    if birth.scaled and birth.poisoned is not None:
        return "info"  # the step that applies scaled gradients is another finding
    if birth.poisoned is not None:
        return "error"
    if birth.skipped:  # what a loss scaler does: the step was taken without it
        return "info"
    if birth.hurts:
        return "error"
    file = "" if birth.site is None else birth.site[0].co_filename
    return "info" if package_of(file) else "warning"  # a library knows its results


def _certainty(birth: Birth) -> float:
    """Order births by time: what came first may have caused the others.

    What no loss showed began to matter in the backward pass that met it.
    """
    hidden = birth.gradient if birth.root is None else None
    event = birth.backward or hidden or birth.call or birth.root
    return 1.0 - min(event.index if event is not None else 0, 10**7) / 10**8


def _symptom(birth: Birth) -> RawSite | None:
    event = birth.root or birth.backward or birth.turned_nan
    return event.site if event is not None else None


def _raised(history: History, birth: Birth) -> bool:
    """Tell whether this ended the run: in anomaly mode, or where it was refused."""
    event, raised = birth.gradient, history.raised
    stopped = event and event.error and "returned nan" in event.error
    if stopped or birth.ended or birth.refused is not None:
        return True
    refused = raised is not None and _NONFINITE.search(raised.text) is not None
    return refused and not birth.skipped


def operand(history: History, birth: Birth) -> str:
    """Return what an op computed from as it is written; "…" where that is long."""
    inputs = () if birth.call is None else birth.call.inputs
    named = history.name(inputs[0], "").strip("`") if inputs else ""
    return in_code(operand_text(history, birth.site) or named)


# ---- parts of sentences -------------------------------------------------------------


def consequence(history: History, birth: Birth) -> str:
    """Say what the value did after it was born."""
    parts, turned = list[str](), birth.turned_nan
    bad = "NaN" if birth.is_nan or turned is not None else "Inf"
    if turned is not None and not birth.chosen:
        parts.append(f"Inf became NaN in `{turned.op}` ({history.line(turned.site)})")
    if birth.vanished is not None and not birth.hurts:
        parts.append(f"{history.quoted(birth.vanished.site)} made zeros of all of it")
    if birth.root is not None:
        parts.append(f"{bad} reached the loss of {history.line(birth.root.site)}")
    elif birth.gradient is not None and birth.how != "derivative":
        line = history.line(birth.gradient.site)
        parts.append(f"{bad} reached the gradients of {line}")
    if birth.poisoned is not None:
        count = len(birth.parameters)
        what = "1 parameter" if count == 1 else f"{count} parameters"
        line = history.line(birth.poisoned.site)
        parts.append(f"the step of {line} made {what} non-finite")
    if birth.refused is not None:
        line = history.line(birth.refused.site)
        parts.append(f"`{birth.refused.op}` ({line}) was given NaN, and raised")
    if not parts:
        return ""
    text = ", and ".join(parts)
    return text[0].upper() + text[1:] + "."


def when(history: History, birth: Birth) -> str:
    """Return "First in backward pass 13 of 25."; "" where there was one."""
    passes = [each for each in history.backwards if each.number]
    event = birth.backward or birth.call or birth.gradient or birth.root
    if event is None or not passes:
        return ""
    # What was born in a forward belongs to the pass that came next.
    first = next((each for each in passes if each.index >= event.index), None)
    last = passes[-1].number
    if first is None or last < _SEVERAL:
        return ""
    return f"First in backward pass {first.number:,} of {last:,}."


def kind_of(birth: Birth) -> str:
    """Return "NaN" or "Inf", whichever the birth was."""
    return "NaN" if birth.is_nan else "Inf"


def place(birth: Birth) -> str:
    """Return " at index (0, 3)", where the first bad element lies."""
    summary = bad_summary(birth)
    if summary is None or not summary.first_bad:
        return ""
    inside = ", ".join(str(each) for each in summary.first_bad)
    return f" at index [{inside}]"


def how_many(birth: Birth) -> str:
    """Return " for 2 of 6 elements, first at index [3]"; "" where there is only one."""
    summary = bad_summary(birth)
    if summary is None or summary.count == 1:
        return ""
    return f" for {share(birth)}, first{place(birth)}"


def share(birth: Birth) -> str:
    """Return "2 of 6 elements", how many are bad."""
    summary = bad_summary(birth)
    return f"{summary.bad} of {summary.count} elements" if summary is not None else ""


def bad_summary(birth: Birth) -> Summary | None:
    """Return the scan of the first bad tensor or gradient."""
    if birth.run is not None:
        bad = [each for each in birth.run.outgoing if each is not None and each.bad]
        return bad[0] if bad else None
    return birth.value.summary if birth.value is not None else None


def operands(history: History, call: Call | None) -> str:
    """Say between which values the operands of a call lie."""
    if call is None:
        return ""
    count = len({value.tensor for value in call.inputs})
    parts = [
        f"{history.name(value, _operand(number, count))} {found}"
        for number, value in enumerate(call.inputs)
        if (found := extent(value))
    ]
    return "; ".join(dict.fromkeys(parts))


def between(history: History, call: Call | None) -> str:
    """Return the same in brackets, with a space before them; "" where not known."""
    extent = operands(history, call)
    return f" ({extent})" if extent else ""


def _operand(number: int, count: int) -> str:
    """Return what to call an operand without a name."""
    ordinals = ("first", "second", "third")
    known = count > 1 and number < len(ordinals)
    return f"its {ordinals[number]} operand" if known else "its operand"


def extent(value: Value) -> str:
    """Return "is 3" or "lies in [-1, 1]"; "" where the values were not looked at."""
    summary = value.summary
    if summary is None or summary.minimum is None or summary.maximum is None:
        return ""
    if summary.minimum == summary.maximum:
        return f"is {_number(summary.minimum)}"
    return f"lies in [{_number(summary.minimum)}, {_number(summary.maximum)}]"


def _number(value: float) -> str:
    """Return a number, with more digits where fewer would make it a whole one."""
    text = f"{value:g}"
    is_rounded_off = float(text) != value and "." not in text and "e" not in text
    return f"{value:.9g}" if is_rounded_off else text
