"""``numpy()`` was called on a tensor that is part of a graph.

What it does
    Explains the refusal, and says which graph the tensor belongs to.

Why is this bad
    NumPy would compute on without a gradient, so PyTorch asks for a ``detach()``. That
    is right for a plot; where the array comes back into the loss it trains nothing.

Example
    ::

        plt.plot(model(x).numpy())

Use instead
    ::

        plt.plot(model(x).detach().numpy())

When it stays quiet
    Where the program handles the error, it is an information only.

References
    https://pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.diagnosis._raised import failing, own_site
from gradviz.diagnosis.edits.calls import detached_first
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.program import History

_SENTENCE = "Can't call numpy() on Tensor that requires grad"


@rule("GV313", "numpy-on-requires-grad", "error")
def check(history: History) -> Iterator[Hit]:
    for call in failing(history, _SENTENCE):
        value = call.inputs[0] if call.inputs else None
        name = "The tensor" if value is None else history.name(value, "The tensor")
        node = history.node(value.node if value is not None else None)
        made = "" if node is None else f" (grad_fn is {node.name})"
        maker = None if value is None else history.producer(value)
        ended = history.ended_by(call)
        yield Hit(
            f"{name} is a leaf that requires grad: NumPy would lose its graph."
            if value is not None and value.is_leaf
            else f"{name} requires grad{made}, and NumPy would lose its graph.",
            own_site(call),
            "`.detach().numpy()` if it is only shown or stored; torch operations if "
            "the result goes back into the loss.",
            symptom=call.site,
            related=(Related("made here", maker.site),) if maker is not None else (),
            severity=None if ended else "info",
            edit=detached_first(own_site(call)),
            explains=ended,
        )
