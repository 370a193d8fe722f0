"""GV123 hook-before-inplace: a hook sees the gradient of the value before a write.

What it does
    Finds tensors that were written in place, with grad mode on, after a hook had been
    registered on them.

Why is this bad
    A tensor hook belongs to the value that the tensor had. The write gives the tensor a
    new node; the hook stays at the old one, and is given the gradient of the old value
    (and changes that one, if it returns another).

Example
    h.register_hook(print)
    h.mul_(10)

Use instead
    h.mul_(10)
    h.register_hook(print)

When it stays quiet
    When the hook is registered after the last write or was removed before it, when the
    write is under ``no_grad()``, and for ``retain_grad()``, which follows the tensor.

References
    PyTorch notes: Autograd mechanics, "Behavior of Tensor hooks when Tensor is modified
    in-place".
    PyTorch documentation: torch.Tensor.register_hook.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._saved_writes import written_tensor
from gradviz.diagnosis._views import ancestors
from gradviz.diagnosis._words import node_words, place, tensor_words
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, HookRan, HookRegistered, RawSite, Value


@rule("GV123", "hook-before-inplace", "warning")
def check(history: History) -> Iterator[Hit]:
    last_run = {event.hook: event.index for event in history.of(HookRan)}
    told: set[RawSite | None] = set()
    for hook in history.of(HookRegistered):
        value = hook.value
        if hook.kind != "tensor" or value is None or value.node is None:
            continue
        if hook.site in told or hook.hook not in last_run:
            continue
        write = _first_write(history, value, hook.index, last_run[hook.hook])
        if write is not None:
            told.add(hook.site)
            yield _hit(history, hook, value, write)


def _first_write(
    history: History, value: Value, after: int, before: int
) -> Call | None:
    for call, write in history.writes(value.storage, after=after, before=before):
        written = written_tensor(call, write)
        same = written.tensor == value.tensor or any(
            base.tensor == value.tensor for _, base in ancestors(history, written)
        )
        if same and call.grad_enabled and call.nodes:
            return call
    return None


def _hit(history: History, hook: HookRegistered, value: Value, write: Call) -> Hit:
    old, new = history.node(value.node), history.node(write.nodes[-1])
    was = (
        ""
        if old is None
        else f", while it was the result of {node_words(history, old)}"
    )
    now = "another node" if new is None else new.name
    return Hit(
        f"The hook on {tensor_words(history, value)} was registered at version "
        f"{value.version} ({place(history, hook.site)}){was}. "
        f"{place(history, write.site)} made the tensor the result of {now}: the hook "
        "stays behind and is given the gradient of the value before the write.",
        write.site,
        "Write out of place under a new name, or register the hook after the last "
        "write in place.",
        symptom=hook.site,
        related=(Related("hook registered here", hook.site),),
        nodes=tuple(each.key for each in (old, new) if each is not None),
        tensors=(value.tensor,),
        certainty=0.8,
    )
