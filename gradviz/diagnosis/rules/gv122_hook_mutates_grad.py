"""GV122 hook-mutates-grad: a hook wrote the gradient it was given, in place.

What it does
    Finds writes in place to the gradient that a tensor hook or node hook was called
    with, and who else was given that same gradient tensor.

Why is this bad
    ``a + b`` hands one gradient tensor to both ``a`` and ``b``. A hook on ``a`` that
    writes it changes the gradient of ``b`` too, if that one is used later. A hook has
    to return a new gradient.

Example
    a.register_hook(lambda grad: grad.mul_(0))

Use instead
    a.register_hook(lambda grad: grad * 0)

When it stays quiet
    When the hook returns a new tensor, or only reads. Where nobody else has the
    gradient, it is an information, not a warning. Hooks that run after a gradient was
    accumulated may write ``.grad``.

References
    PyTorch documentation: torch.Tensor.register_hook ("the hook should not modify its
    argument").
    PyTorch notes: Autograd mechanics, "Backward Hooks execution".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from types import CodeType

from gradviz.diagnosis._gradient_sharing import sharer
from gradviz.diagnosis._refused import hit, hook_around, refused
from gradviz.diagnosis._rewrites import out_of_place
from gradviz.diagnosis._words import node_words, place, tensor_words
from gradviz.diagnosis.edits.writes import out_of_place as unwritten
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, HookRan, HookRegistered, RawSite

REFUSED = "more than one element of the written-to tensor refers to a single memory"

_KINDS = ("tensor", "node", "node_pre")


@rule("GV122", "hook-mutates-grad", "error")
def check(history: History) -> Iterator[Hit]:
    changed = {event.hook for event in history.of(HookRan) if event.changed}
    told: set[RawSite | None] = set()
    for hook in history.of(HookRegistered):
        if hook.kind in _KINDS and hook.site not in told:
            writer = _writer(history, hook)
            if writer is not None or hook.hook in changed:
                told.add(hook.site)
                yield _hit(history, hook, writer)
    for failure, written, _ in refused(history, REFUSED):
        hook = hook_around(history, failure)
        if hook is not None:
            yield hit(
                failure,
                f"The hook on {_name(history, hook)} (registered in "
                f"{history.line(hook.site)}) writes the gradient it is given in place: "
                f"{place(history, failure.site)}. The gradient of a sum is one number "
                "seen in many places, so the write is refused.",
                "Return a new gradient instead of writing the given one.",
                related=[Related("hook registered here", hook.site)],
                written=written,
                edit=unwritten(failure.site),
            )


def _name(history: History, hook: HookRegistered) -> str:
    return "a tensor" if hook.value is None else tensor_words(history, hook.value)


def _writer(history: History, hook: HookRegistered) -> Call | None:
    """Return the call in the hook that wrote its gradient: a tensor no call made."""
    if hook.code is None:
        return None
    for call in history.once(_writers).get(hook.code, ()):
        if call.index < hook.index:
            continue
        written = [
            each
            for each in call.inputs
            if each.storage in {write.storage for write in call.writes}
        ]
        if any(history.producer(each, call.index) is None for each in written):
            return call
    return None


def _writers(history: History) -> dict[CodeType, list[Call]]:
    """Return the calls that write, by the functions around them."""
    found: dict[CodeType, list[Call]] = defaultdict(list)
    codes = {hook.code for hook in history.of(HookRegistered)}
    for call in history.calls:
        sites = call.frames if call.writes else ()
        for code in {site[0] for site in sites} & codes:
            found[code].append(call)
    return found


def _hit(history: History, hook: HookRegistered, call: Call | None) -> Hit:
    site = hook.site if call is None else call.site
    shared = None if hook.value is None else sharer(history, hook.value)
    if shared is None:
        effect = "Where several branches share one gradient tensor, the others change."
    else:
        effect = (
            f"{node_words(history, shared[0])} gives the same gradient tensor to "
            f"{node_words(history, shared[1])}, whose gradient changes with it."
        )
    rewritten = out_of_place(history, site)
    example = f", for example `{rewritten}`, and return it" if rewritten else ""
    return Hit(
        f"The hook on {_name(history, hook)} (registered in "
        f"{history.line(hook.site)}) writes the "
        f"gradient it is given in place: {place(history, site)}. {effect}",
        site,
        f"Return a new gradient instead of writing the given one{example}.",
        symptom=site,
        related=(
            Related("hook registered here", hook.site),
            Related("gradient shared here", shared[0].site if shared else None),
        ),
        nodes=() if shared is None else (shared[0].key, shared[1].key),
        severity="info" if shared is None else "error",
        certainty=0.5 if shared is None else 1.0,
        edit=unwritten(site),
    )
