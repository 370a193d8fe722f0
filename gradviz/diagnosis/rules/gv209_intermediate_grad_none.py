"""The gradient of an intermediate result is read, and nothing kept it.

What it does
    Finds reads of ``.grad`` of a tensor in the middle of the graph that gave None
    because nothing had asked autograd to keep it. Of what a forward hook put away, the
    hook could have.

Why is this bad
    Backward passes keep gradients in leaves only; what flows through other tensors is
    dropped at once. The None says nothing about whether a gradient arrived.

Example
    ::

        h = torch.tanh(x)
        h.sum().backward()
        print(h.grad)

Use instead
    ::

        h = torch.tanh(x)
        h.retain_grad()
        h.sum().backward()
        print(h.grad)

When it stays quiet
    Before a backward pass has come by, and where ``retain_grad()`` was called.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis.edits.leaves import retained
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._grad_reads import none_reads, subject_of
from gradviz.diagnosis.rules._lifetime import name_of
from gradviz.program import History


@rule("GV209", "intermediate-grad-none", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per tensor whose gradient was read and not kept."""
    for found in history.once(none_reads):
        if found.why != "intermediate":
            continue
        name = name_of(history, found.value)
        if found.line is not None or found.hooked is not None:
            name = f"`{subject_of(history, found.read)}`"
        code = name.strip("`") if name.startswith("`") else "tensor"
        culprit = found.hooked or found.made
        if found.hooked is not None:
            code = next(iter(history.places.targets(culprit)), "output")
        yield Hit(
            f"{name} is no leaf: {found.node.name} made it in "
            f"{history.line(found.made)}. A gradient flowed through it and was not "
            "kept, so its .grad is None.",
            culprit,
            f"Call `{code}.retain_grad()` right after this line, before backward(); "
            "or ask for the gradient with `torch.autograd.grad(loss, ...)`.",
            edit=retained(culprit, found.line),
            line=found.line,
            symptom=found.read.site,
            related=(
                Related("its .grad is read here", found.read.site),
                Related("made here", found.made if found.hooked else None),
            ),
            nodes=(found.node.key,),
            tensors=(found.value.tensor,),
            explains=found.explains,
        )
