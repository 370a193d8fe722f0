"""Saved tensors that were written before the backward pass that needed them.

For each backward pass that refused to run, one :class:`Overwrite`: the node, the slot,
who wrote first after the value was saved, and what kind of mistake that is. The rules
that share this analysis each tell one kind.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from gradviz.dependence.learning import (
    all_parameters,
    around,
    joined,
    once,
    steps,
)
from gradviz.diagnosis._memory import numel, overlap
from gradviz.diagnosis._rewrites import instead
from gradviz.diagnosis._views import through
from gradviz.diagnosis._words import (
    module_around,
    module_words,
    node_words,
    owner_of,
    place,
    tensor_words,
)
from gradviz.diagnosis.decisions.bindings import last_assigned
from gradviz.diagnosis.decisions.decision import of_write
from gradviz.diagnosis.edits.remedy import Remedy, first_of
from gradviz.diagnosis.edits.writes import copied_first, out_of_place
from gradviz.diagnosis.rule import Hit, Related, Rule
from gradviz.program import (
    Backward,
    Call,
    History,
    Node,
    OptimizerCall,
    RawSite,
    Value,
    Write,
)

MODIFIED = "modified by an inplace operation"

Kind = Literal[
    "output", "input", "disjoint", "recurrent", "alias", "detached", "step",
    "stale weights",
]  # fmt: skip

_Stale: TypeAlias = tuple[Node, str, Value, int]
"""What a node saved and somebody wrote: node, slot, value, and its version by now."""

_RESULT = re.compile(r"(_saved_)?(result|output)\d*")
_EXPECTED = re.compile(r"is at version (\d+); expected version (\d+)")


@dataclass(frozen=True, slots=True)
class Overwrite:
    """A value that a node saved, and the write that came before it was needed."""

    kind: Kind
    backward: Backward
    node: Node
    slot: str
    value: Value  # as saved
    version_now: int
    call: Call | None  # who wrote first; None where nobody was seen
    write: Write | None
    site: RawSite | None  # the line to blame
    step: OptimizerCall | None  # the optimizer step that the write was part of
    ended: bool  # the error ended the program

    @property
    def is_output(self) -> bool:
        """Is the saved value the node's own result?"""
        named = _RESULT.fullmatch(self.slot) is not None
        return named or self.value.node == self.node.key

    @property
    def by(self) -> tuple[Call, Write]:
        """The call that wrote first, of kinds for which one has to be seen."""
        assert self.call is not None
        assert self.write is not None
        return self.call, self.write


@once
def overwrites(history: History) -> list[Overwrite]:
    """Return one overwrite per backward pass that refused to run."""
    found: list[Overwrite] = []
    for backward in history.backwards:
        if backward.error is None or MODIFIED not in backward.error:
            continue
        stale = _blamed(history, backward)
        if stale is not None:
            found.append(_explained(history, backward, stale))
    return found


# ---- which saved value --------------------------------------------------------------


def _blamed(history: History, backward: Backward) -> _Stale | None:
    """Return the saved value that the error is about."""
    candidates = list(_stale(history, backward))
    text = _EXPECTED.search(backward.error or "")
    told = (int(text[1]), int(text[2])) if text else None

    def fits(candidate: _Stale) -> tuple[bool, bool]:
        node, _, value, now = candidate
        return (
            node.key != backward.error_node,
            told is not None and (now, value.version) != told,
        )

    return min(candidates, key=fits, default=None)


def _stale(history: History, backward: Backward) -> Iterator[_Stale]:
    for each in backward.stale:
        node = history.node(each.node)
        if not each.silent and node is not None:
            yield node, each.slot, each.value, each.version_now
    if any(not each.silent for each in backward.stale):
        return
    for node in reached(history, backward):  # worked out from the writes
        for saved in node.saved:
            writes = guarded_writes(history, saved.value, backward.index)
            if writes:
                yield node, saved.slot, saved.value, writes[-1][1].after


def reached(history: History, backward: Backward) -> list[Node]:
    """Return the nodes that a backward pass would walk."""
    if backward.nodes:
        keys: Iterable[int] = backward.nodes
        return [node for key in keys if (node := history.node(key)) is not None]
    return list(history.reach(backward.root_nodes).values())


def guarded_writes(
    history: History, value: Value, before: int
) -> list[tuple[Call, Write]]:
    """Return the writes after a value was saved that its version counter saw."""
    return [
        (call, write)
        for call, write in history.writes(value.storage, before=before)
        if write.after > value.version
        and write.after > write.before
        and through(history, write.value, "data.get") is None
    ]


# ---- who wrote it, and what kind of mistake that is ---------------------------------


def _explained(history: History, backward: Backward, stale: _Stale) -> Overwrite:
    node, slot, value, version_now = stale
    writes = guarded_writes(history, value, backward.index)
    writes = [each for each in writes if numel(each[1].value)] or writes
    call, write = writes[0] if writes else (None, None)
    step = _step_of(history, backward, node, value, call)
    writer = step or call
    site = writer.site if writer else _accumulated(history, backward, node)
    overwrite = Overwrite(
        kind="input",
        backward=backward,
        node=node,
        slot=slot,
        value=value,
        version_now=version_now,
        call=call,
        write=write,
        site=site,
        step=step,
        ended=history.ended_by(backward),
    )
    return replace(overwrite, kind=_kind(history, overwrite))


def _kind(history: History, found: Overwrite) -> Kind:
    plain: Kind = "output" if found.is_output else "input"
    if found.step is not None or _updates_weights(found.call, found.write):
        return "stale weights" if _ran_before(history, found) else "step"
    if found.call is None or found.write is None:
        return plain
    if _in_loop(history, found):
        return "recurrent"
    if not overlap(found.write.value, found.value):
        return "disjoint"
    written = written_tensor(*found.by)
    if through(history, written, "detach") is not None:
        return "detached"
    return plain if _is_same(history, found, written) else "alias"


def written_tensor(call: Call, write: Write) -> Value:
    """Return the argument that a call wrote to: ``x`` of ``x[0] = 1``."""
    for each in call.inputs:
        if each.storage == write.storage and each.tensor == write.value.tensor:
            return each
    for each in call.inputs:
        if each.storage == write.storage:
            return each
    return write.value


def _is_same(history: History, found: Overwrite, written: Value) -> bool:
    """Was the saved tensor written through itself, not through another one?"""
    saved = found.value
    if written.tensor == saved.tensor:
        return True
    maker = history.maker(found.node)
    results = () if maker is None or not found.is_output else maker.outputs
    return any(
        each.tensor == written.tensor and each.output == saved.output
        for each in results
    )


def _updates_weights(call: Call | None, write: Write | None) -> bool:
    """Is this a manual update: a leaf that requires grad, so it was not recorded?"""
    if call is None or write is None:
        return False
    written = written_tensor(call, write)
    return written.is_leaf and written.requires_grad


def step_around(history: History, call: Call) -> OptimizerCall | None:
    """Return the optimizer step that a write was part of."""
    near = [step for step in steps(history) if step.site in call.frames]
    return min(near, key=lambda step: abs(step.index - call.index), default=None)


def _step_of(
    history: History,
    backward: Backward,
    node: Node,
    value: Value,
    call: Call | None,
) -> OptimizerCall | None:
    """Return the optimizer step that changed a saved value, seen to write or not."""
    if call is not None:
        return step_around(history, call)
    owners = {each.tensor for each in _tensors_of(history, value.storage)}
    for step in steps(history):
        between = (node.call or -1) < step.index < backward.index
        if between and owners & {state.tensor for state in step.states}:
            return step
    return None


def _tensors_of(history: History, storage: int) -> list[Value]:
    return [
        value
        for call in history.calls
        for value in call.inputs
        if value.storage == storage
    ]


def _accumulated(history: History, backward: Backward, node: Node) -> RawSite | None:
    """Return the pass in between: it added to a ``.grad`` that was saved."""
    for each in history.backwards:
        if (node.call or -1) < each.index < backward.index:
            return each.site
    return node.site


def _ran_before(history: History, found: Overwrite) -> bool:
    """Has an earlier pass, with retain_graph, already walked the same node?"""
    return any(
        each.index < found.backward.index
        and each.error is None
        and found.node.key in each.nodes
        for each in history.backwards
    )


def _in_loop(history: History, found: Overwrite) -> bool:
    """Did a line write parts of this storage again and again, as others saved it?"""
    (first, write), end = found.by, found.backward.index
    storage = write.storage
    writers = [call for call, _ in history.writes(storage, before=end)]
    alike = [call for call in writers if call.site == first.site]
    between = any(
        value.storage == storage and (node.call or -1) > alike[0].index
        for node, _, value, _ in _stale(history, found.backward)
    )
    size = max(map(numel, _tensors_of(history, storage)), default=0)
    return between and len(alike) > 1 and numel(write.value) < size


Sentence = Callable[[History, Overwrite], str]


def overwrite_rule(
    code: str,
    slug: str,
    kind: Kind,
    message: Sentence,
    fix: Sentence,
    related: Callable[[History, Overwrite], Related] | None = None,
    edit: Callable[[History, Overwrite], Remedy | None] | None = None,
    culprit: Callable[[History, Overwrite], RawSite | None] | None = None,
) -> Rule:
    """Make a rule of one kind of overwrite, with the places that they all show.

    It blames the write, unless told otherwise.
    """

    def check(history: History) -> Iterator[Hit]:
        for found in overwrites(history):
            if found.kind == kind:
                yield Hit(
                    message(history, found),
                    (culprit or written_at)(history, found),
                    fix(history, found),
                    symptom=found.backward.site,
                    related=(
                        *_related(history, found),
                        *([related(history, found)] if related else []),
                    ),
                    nodes=(found.node.key,),
                    tensors=(found.value.tensor,),
                    severity="error" if found.ended else "info",
                    explains=found.ended,
                    edit=(edit or unwritten)(history, found),
                    # The line that kept a graph past a step comes before the step.
                    certainty=0.9 if kind == "stale weights" else 1.0,
                )

    return Rule(code, slug, "error", check)


def unwritten(history: History, found: Overwrite) -> Remedy | None:
    """Return what does without a write, or writes to a copy."""
    if found.kind in ("step", "stale weights"):
        return None
    site = written_at(history, found)
    if found.call is not None and _second_name(history, found.call.site) is not None:
        return out_of_place(found.call.site)
    return first_of(out_of_place(site), copied_first(site))


def written_at(history: History, found: Overwrite) -> RawSite | None:
    """Return the line to change: of a layer with ``inplace=True``, its construction.

    Of ``out += x`` after ``out = x``, that line: it gave a second name, and no copy.
    """
    if found.call is None or found.site != found.call.site:
        return found.site
    second = _second_name(history, found.site)
    if second is not None:
        return second
    return of_write(history, found.call).site


def _second_name(history: History, site: RawSite | None) -> RawSite | None:
    """Return the line that bound what ``+=`` writes to the value of another name."""
    function = None if site is None else history.places.function(site[0])
    match history.places.statement(site):
        case ast.AugAssign(ast.Name(name)) as statement if site and function:
            last = last_assigned(ast.walk(function), name, statement.lineno)
            if last is not None and isinstance(last.value, ast.Name):
                return history.places.at_line(site[0], last.lineno)
        case _:
            pass
    return None


def _related(history: History, found: Overwrite) -> Iterable[Related]:
    yield Related("saved here", found.node.site)
    producer = history.producer(found.value)
    made = None if producer is None else producer.site
    if made is None:
        facts = history.program.tensors.get(found.value.tensor)
        made = None if facts is None else facts.made
    if made is not None and made != found.node.site:
        yield Related("created here", made)
    if found.call is not None and found.call.site != written_at(history, found):
        yield Related("written here", found.call.site)


def overwritten_words(history: History, found: Overwrite) -> str:
    """Return "`h.mul_(2)` (line 20) overwrites `h`", and what needed it."""
    inside = "" if found.call is None else module_words(history, found.call.module)
    writer = place(history, found.site, inside)
    name = tensor_words(history, found.value)
    return (
        f"{writer} overwrites {name} in place, so backward() refuses: "
        f"{needed_words(history, found)} {version_words(found)}"
    )


def needed_words(history: History, found: Overwrite) -> str:
    """Return "the gradient of `h ** 2` (line 19) needs its input `h` as it was"."""
    role = "its result" if found.is_output else "its input"
    name = tensor_words(history, found.value)
    named = f"{role} {name}" if name.startswith("`") else f"{role}, {name},"
    node = node_words(history, found.node)
    return f"the gradient of {node} needs {named} as it was then"


def version_words(found: Overwrite) -> str:
    """Return what to find the message of PyTorch's own error by."""
    saved, now = found.value.version, found.version_now
    return f"({found.node.name}: saved at version {saved}, now at version {now})"


def weights_words(history: History, found: Overwrite) -> str:
    """Return "the weights of `qf1` and `qf2`": what was changed that a pass needs."""
    stale = [found.value, *(each[2] for each in _stale(history, found.backward))]
    owners = {owner_of(history, each) or each.tensor for each in stale}
    states = () if found.step is None else found.step.states
    changed = {each.tensor for each in states} or owners
    names = {_layer_of(history, each, changed) for each in owners & changed} - {""}
    if not names:
        return "weights"
    return f"the weights of {joined(sorted(names))}"


def _layer_of(history: History, tensor: int, changed: set[int]) -> str:
    """Return the name of the largest module around a weight that changed as a whole.

    Without one, of the layer that has it; without a module, that of the tensor.
    """
    name = ""
    for module in around(history, tensor):
        if name and not all_parameters(history, module) <= changed:
            break
        name = module.name or name
    return f"`{name}`" if name else history.name(tensor, "")


def rewrite_words(history: History, found: Overwrite) -> str:
    """Return how to do without the write."""
    inside = None if found.call is None else found.call.module
    words = instead(history, found.site, module_around(history, inside))
    if found.call is not None and _second_name(history, found.call.site) is not None:
        here = "Make it a copy here, with `.clone()`."
        return f"{here} Or, in {history.line(found.site)}: {words}"
    return words
