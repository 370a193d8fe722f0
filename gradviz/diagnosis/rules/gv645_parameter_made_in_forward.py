"""A parameter is made anew in every forward pass.

What it does
    Finds lines inside a module's forward that make a new leaf for each of several
    backward passes, where no optimizer has any of them.

Why is this bad
    The gradient goes to a tensor that the next pass does not know. No optimizer can
    hold it, ``state_dict()`` has none of it, and every pass begins with other values.

Example
    ::

        def forward(self, x):
            bias = nn.Parameter(torch.randn(x.shape[-1]))
            return self.body(x) + bias

Use instead
    ::

        def __init__(self, dim):
            self.bias = nn.Parameter(torch.randn(dim))

        def forward(self, x):
            return self.body(x) + self.bias

When it stays quiet
    Leaves that are no ``nn.Parameter``, such as points where a derivative is asked
    for, and those whose ``.grad`` the program reads.

References
    https://pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import by_hand
from gradviz.diagnosis.rules._loop_helpers import read_gradients
from gradviz.program import Call, History, ModuleCall, RawSite

_LEAST = 2  # leaves of one line


@rule("GV645", "parameter-made-in-forward", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that makes such leaves."""
    seen, made = learning.last_seen(history), defaultdict[RawSite, list[int]](list)
    known = learning.managed(history) | learning.parameters(history).keys()
    known |= by_hand(history) | read_gradients(history)
    for leaf in sorted(learning.trained(history) - known):
        call = history.producer(leaf) or learning.births(history).get(leaf)
        inside = call and isinstance(history.at(call.module), ModuleCall)
        if call is None or not inside or not _makes(call, seen[leaf].storage):
            continue  # nobody saw its making: that call is the first that reads it
        if call.site and seen[leaf].is_parameter:
            made[call.site].append(leaf)
    for site, leaves in made.items():
        if len(leaves) >= _LEAST:
            passes = [each for each in history.backwards if leaves[0] in each.leaves]
            yield Hit(
                f"`{history.text(site)}` makes a new parameter in every forward pass, "
                f"{len(leaves)} so far: each gets one gradient and is given up, and no "
                "optimizer has any of them. Nothing is learned here.",
                site,
                "Make it once, in `__init__`: `self.name = nn.Parameter(...)`.",
                symptom=passes[0].site,
                related=(Related("its gradient is computed here", passes[0].site),),
                tensors=tuple(leaves),
                certainty=0.9,
            )


def _makes(call: Call, storage: int) -> bool:
    return any(value.storage == storage for value in call.outputs)
