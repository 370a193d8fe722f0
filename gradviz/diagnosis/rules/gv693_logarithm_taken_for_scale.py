"""One output of a layer is a logarithm in one place, and what it is of in another.

What it does
    Finds outputs of a layer that go through ``exp`` in one place, and in another,
    squared, through ``log``.

Why is this bad
    ``exp(0.5 * logvar)`` says that the output is the logarithm of a variance;
    ``log(logvar ** 2)`` takes it for a standard deviation. Whatever the loss then asks
    of it, as a divergence from the standard normal, is asked of another number than the
    one that is drawn with.

Example
    ::

        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        kl = 0.5 * (mu**2 + logvar**2 - torch.log(logvar**2 + 1e-20) - 1)

Use instead
    ::

        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        kl = 0.5 * (mu**2 + logvar.exp() - logvar - 1)

When it stays quiet
    Where what goes through ``log`` was made positive by more than a square, and where
    the two are outputs of different layers.

References
    https://arxiv.org/abs/1312.6114
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.flow import words
from gradviz.dependence.op_families import plain
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import Call, History, RawSite, Value

_SHIFTING = words("add radd clamp clamp_min maximum")
_SQUARING = words("pow square abs")
_SCALING = words("mul rmul multiply div truediv neg")
_LAYERS = words("linear addmm conv1d conv2d conv3d")
_PARTS = words("chunk split unbind getitem select narrow view reshape squeeze")
_FAR = 6  # calls from a logarithm back to the output


@rule("GV693", "logarithm-taken-for-scale", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that squares such an output, to take its logarithm."""
    told = set[RawSite | None]()
    for call in history.calls:
        if plain(call.op) != "log" or call.site in told or not call.inputs:
            continue
        told.add(call.site)
        squared = _squared(history, call)
        exponential = None if squared is None else _exponential(history, squared)
        if squared is not None and exponential is not None:
            yield _hit(history, call, squared, exponential)


def _squared(history: History, call: Call) -> Call | None:
    """Return the call that squared a layer's output before its logarithm was taken."""
    value, before = call.inputs[0], call.index
    for _ in range(_FAR):
        made = history.producer(value, before)
        if made is None or not made.inputs or not value.requires_grad:
            return None
        op, same = plain(made.op), {each.tensor for each in made.inputs}
        if op in _SQUARING or (op == "mul" and len(same) == 1 < len(made.inputs)):
            return made if _is_output(history, made.inputs[0], made) else None
        if op not in _SHIFTING:
            return None
        learnt = [each for each in made.inputs if each.requires_grad]
        if len(learnt) != 1:
            return None
        value, before = learnt[0], made.index
    return None


def _is_output(history: History, value: Value, use: Call) -> bool:
    """Tell whether a layer gave a tensor as it is, or a part of it."""
    before = use.index
    for _ in range(_FAR):
        made = history.producer(value, before)
        if made is None or not made.inputs:
            return False
        if plain(made.op) in _LAYERS:
            return True
        if plain(made.op) not in _PARTS:
            return False
        value, before = made.inputs[0], made.index
    return False


def _exponential(history: History, squared: Call) -> Call | None:
    """Return the call that takes the same output, perhaps scaled, for a logarithm."""
    waiting = [squared.inputs[0]]
    for seen, value in enumerate(waiting):
        for use in history.uses(value.tensor) if seen < _FAR else ():
            if plain(use.op) == "exp":
                return use
            learnt = [each for each in use.inputs if each.requires_grad]
            if plain(use.op) in _SCALING and len(learnt) == 1 and use.outputs:
                waiting.append(use.outputs[0])
    return None


def _hit(history: History, call: Call, squared: Call, exponential: Call) -> Hit:
    name = history.name(squared.inputs[0], "One output")
    taken = f"`{history.text(exponential.site)}` ({history.line(exponential.site)})"
    return Hit(
        f"{name} is the logarithm of a variance or scale in {taken}, and "
        f"`{history.text(squared.site)}` ({history.line(squared.site)}) squares it as "
        f"if it were the scale itself; {history.line(call.site)} takes the logarithm "
        "of that.",
        squared.site,
        "Write `logvar.exp()` for the variance, and `logvar` for its logarithm.",
        symptom=call.site,
        related=(
            Related("taken for a logarithm", exponential.site),
            Related("its logarithm is taken", call.site),
        ),
        tensors=(squared.inputs[0].tensor,),
        certainty=0.8,
    )
