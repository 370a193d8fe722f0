"""What a question is about: a name or a number of the log, found in a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from gradviz.answers.answer import SubjectKind
from gradviz.errors import QuestionError
from gradviz.program import Backward, History, Module, Raised

ERROR = "error"
"""The name of the exception that ended the run."""

_SHOWN = 6  # names of an error message


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing of a run that has a name."""

    kind: SubjectKind
    tensor: int | None = None
    module: Module | None = None
    backward: Backward | None = None  # that began at a loss
    raised: Raised | None = None


def subjects(history: History) -> dict[str, Subject]:
    """Return everything that has a name: of one name, what came last.

    Parameters come before modules, losses and other tensors that are called the same.
    """
    found: dict[str, Subject] = {}
    leaves = {leaf for backward in history.backwards for leaf in backward.leaves}
    for tensor, facts in history.program.tensors.items():
        if facts.name:
            known = found.get(facts.name)
            if known is None or known.kind != "parameter":
                learns = facts.is_parameter or tensor in leaves
                found[facts.name] = Subject("parameter" if learns else "tensor", tensor)
    for backward in history.backwards:
        for root in backward.roots:
            facts = history.program.tensors.get(root.tensor)
            if facts is not None and facts.name and not facts.is_parameter:
                found[facts.name] = Subject("loss", root.tensor, backward=backward)
    for module in history.program.modules.values():
        if module.name:
            found.setdefault(module.name, Subject("module", module=module))
    if history.raised is not None:
        found.setdefault(ERROR, Subject("error", raised=history.raised))
    return found


def of_tensor(history: History, tensor: int) -> Subject:
    """Return the subject of a tensor by its number: a leaf, the root of a pass, any."""
    facts = history.program.tensors.get(tensor)
    if facts is not None and facts.is_parameter:
        return Subject("parameter", tensor)
    for backward in reversed(history.backwards):
        if any(each.tensor == tensor for each in backward.roots):
            return Subject("loss", tensor, backward=backward)
        if tensor in backward.leaves:
            return Subject("parameter", tensor)
    return Subject("tensor", tensor)


def named(names: Iterable[str], asked: str) -> str:
    """Return the name that is meant: that itself, or the only one that ends with it.

    >>> named(["model.encoder.weight", "model.head.weight"], "encoder.weight")
    'model.encoder.weight'
    >>> named(["model.encoder.weight"], "encodr.weight")
    Traceback (most recent call last):
    ...
    gradviz.errors.QuestionError: nothing in this recording is called `encodr.weight`; \
near it are: `model.encoder.weight`
    """
    asked, known = asked.strip().removeprefix("self."), list(names)
    if asked in known:
        return asked
    ending = [each for each in known if each.endswith(f".{asked}")]
    inside = [each for each in known if asked.endswith(f".{each}")]
    for found in (ending, inside):
        if len(found) == 1:
            return found[0]
    if ending:
        raise QuestionError(f"`{asked}` may be {_listed(ending)}: say which is meant")
    raise QuestionError(_unknown(known, asked))


def _unknown(known: list[str], asked: str) -> str:
    last = {each.rpartition(".")[2]: each for each in reversed(known)}
    near = get_close_matches(asked, known, _SHOWN, 0.5)
    near += [last[each] for each in get_close_matches(asked, list(last), 3, 0.6)]
    near = list(dict.fromkeys(near))[:_SHOWN]
    words = f"nothing in this recording is called `{asked}`"
    if near:
        return f"{words}; near it are: {_listed(near)}"
    if not known:
        return f"{words}: it names no parameter, module or loss at all"
    return f"{words}; it has {_listed(known[:_SHOWN])} and so on"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"`{each}`" for each in names[:_SHOWN]) + more
