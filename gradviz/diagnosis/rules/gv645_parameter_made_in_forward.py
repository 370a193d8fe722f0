"""A parameter is made anew in every forward pass.

What it does
    Finds lines inside a module's forward that make a new leaf, or a layer with some,
    for each of several backward passes, where no optimizer has any of them. In a method
    that forward calls, the line of forward is to blame.

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
    for, and those whose ``.grad`` the program reads. Layers that a module makes once,
    when it is first called.

References
    https://pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradviz.dependence import learning
from gradviz.diagnosis.decisions.sites import line_of
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import unstepped
from gradviz.diagnosis.rules._loop_helpers import read_gradients
from gradviz.diagnosis.rules._rewrapped import rewraps
from gradviz.program import Call, History, ModuleCall, RawSite

_LEAST = 2  # calls of one module


@rule("GV645", "parameter-made-in-forward", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per line that makes such leaves."""
    made = defaultdict[RawSite, list[int]](list)
    makers = defaultdict[tuple[RawSite, int], set[int]](set)
    inner = list(_made_inside(history))
    led = {  # of some calls, only the innermost frame is known
        call.site: _in_forward(call, inside)
        for _, call, inside in inner
        if inside.site in call.frames
    }
    for leaf, call, inside in inner:
        site = led.get(call.site, call.site)
        if site is not None:
            made[site].append(leaf)
            makers[site, inside.module].add(inside.index)
    again = {site for (site, _), calls in makers.items() if len(calls) >= _LEAST}
    # Of results, it is said already what they cost.
    told = {s for each in rewraps(history) for s in (each.site, *each.source.frames)}
    lines = {line_of(site) for site in told if site is not None}
    again = {site for site in again if line_of(site) not in lines}
    for site, leaves in made.items():
        if site in again:
            yield _hit(history, site, leaves)


def _made_inside(history: History) -> Iterator[tuple[int, Call, ModuleCall]]:
    """Yield parameters that no optimizer has, what made them, and in whose forward."""
    seen = learning.last_seen(history)
    for leaf in sorted(unstepped(history) - read_gradients(history)):
        call = history.producer(leaf) or learning.births(history).get(leaf)
        inside = None if call is None else history.at(call.module)
        made_by = [] if call is None else [each.storage for each in call.outputs]
        if call is None or call.site is None or seen[leaf].storage not in made_by:
            continue  # nobody saw its making: that call is the first that reads it
        if isinstance(inside, ModuleCall) and seen[leaf].is_parameter:
            yield leaf, call, inside


def _in_forward(call: Call, inside: ModuleCall) -> RawSite:
    """Return the line of a module's forward that led to a call."""
    around = call.frames.index(inside.site)
    return call.frames[max(around - 1, 0)]


def _hit(history: History, site: RawSite, leaves: list[int]) -> Hit:
    passes = [each for each in history.backwards if leaves[0] in each.leaves]
    layer = learning.module_of(history, leaves[0])
    what, owned, maker = "parameter", "", "Parameter"
    if layer is not None:
        what = maker = layer.kind
        owned = " parameters"
    return Hit(
        f"`{history.text(site)}` makes a new {what} in every forward pass, "
        f"{len(leaves)}{owned} so far: each gets one gradient and "
        "is given up, and no optimizer has any of them. Nothing is learned here.",
        site,
        f"Make it once, in `__init__`: `self.name = nn.{maker}(...)`.",
        symptom=passes[0].site,
        related=(Related("its gradient is computed here", passes[0].site),),
        tensors=tuple(leaves),
        certainty=0.9,
    )
