"""GV507: a second derivative is 0 everywhere, for the network is made of ReLUs.

What it does
    Finds ``autograd.grad`` of a gradient, or ``torch.func.grad`` of another, whose
    result is 0 in every element although the gradient is not, where the function behind
    both has ReLUs in it.
Why is this bad
    Between its kinks such a network is linear: its second derivative is exactly 0,
    whatever its weights are. An equation with ``u_xx`` in it cannot be learned, and
    nothing says so.
Example
    ``nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 1))`` as the solution of
    ``u_xx = f(x)``
Use instead
    A smooth activation: ``nn.Tanh()``, ``nn.SiLU()``, ``nn.Softplus()``, or a sine.
When it stays quiet
    Any element is not 0, the first derivative is 0 as well, or nothing has a kink.
References
    Raissi et al., 2019, Physics-informed neural networks.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.op_families import function_of
from gradviz.diagnosis.decisions.decision import of_function
from gradviz.diagnosis.edits.calls import renamed_all
from gradviz.diagnosis.gradient_flow import is_activation
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import any_nonzero
from gradviz.program import Backward, History, RawSite, Value

_KINKS = (
    "relu", "relu6", "leaky_relu", "prelu", "hardtanh", "threshold", "abs", "clamp",
    "clamp_min", "clamp_max", "rrelu_with_noise",
)  # fmt: skip
_FLAT = (
    "threshold_backward", "leaky_relu_backward", "hardtanh_backward",
    "rrelu_with_noise_backward",
)  # fmt: skip
_LAYERS = ("ReLU", "ReLU6", "LeakyReLU", "PReLU", "Hardtanh", "Threshold", "RReLU")


@rule("GV507", "second-derivative-of-kinks", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield one hit per activation that a second derivative of 0 comes from."""
    first: dict[int, Backward] = {}  # by a tensor that it gave
    told: set[RawSite | None] = set()
    for backward in history.backwards:
        results = [each for each in backward.results if each is not None]
        if _is_zero(results):
            behind = history.behind(backward.roots, backward.index) & first.keys()
            earlier = [first[key] for key in sorted(behind)]
        else:
            earlier = _stopped(history, backward) if _is_unknown(results) else []
        for hit in _hits(history, backward, earlier):
            if hit.culprit not in told:
                told.add(hit.culprit)
                yield hit
        if backward.create_graph:
            first |= {each.tensor: backward for each in results}


def _is_unknown(results: list[Value]) -> bool:
    """Tell whether nobody looked at results: a transform of torch.func holds them."""
    return bool(results) and all(each.summary is None for each in results)


def _stopped(history: History, second: Backward) -> list[Backward]:
    """Return the passes that one differentiates, where only kinks lead to its input.

    What the derivative of a kink changes by is 0, wherever it is asked.
    """
    leaves = {each.tensor for each in second.inputs}
    inner = {each.node for each in second.inputs}
    waiting = [root.node for root in second.roots if root.node is not None]
    met, found = set(waiting), dict[int, Backward]()
    for key in waiting:
        node = history.node(key)
        if node is None or node.leaf in leaves or key in inner:
            return []
        earlier = history.at(node.call)
        if isinstance(earlier, Backward):
            found[earlier.index] = earlier
        flat = function_of(node.name) in _FLAT
        ahead = {edge[0] for edge in node.next[: 1 if flat else None] if edge}
        waiting += ahead - met
        met |= ahead
    return [found[index] for index in sorted(found)]


def _is_zero(results: list[Value]) -> bool:
    known = [each.summary for each in results if each.summary is not None]
    return bool(known) and len(known) == len(results) and not any_nonzero(known)


def _hits(history: History, second: Backward, first: list[Backward]) -> Iterator[Hit]:
    roots = (node for each in first for node in each.root_nodes)
    kinks = [
        node for node in history.reach(roots).values() if is_activation(node, *_KINKS)
    ]
    calls = filter(None, (history.maker(node) for node in kinks))
    places = dict.fromkeys(
        of_function(history, call, _LAYERS).site
        for call in sorted(calls, key=lambda call: call.index)
    )
    if not places:
        return
    culprit, *others = places
    yield Hit(
        f"The second derivative that {history.line(second.site)} asks for is 0 in "
        f"every element: {history.quoted(culprit)} is made of straight pieces, and so "
        "is all that is computed with it. No weights can change that, so a loss of "
        "this derivative trains nothing.",
        culprit,
        "Use an activation that is smooth: `nn.SiLU()`, `nn.Tanh()`, `nn.Softplus()`"
        f"{', in all places' if others else ''}.",
        symptom=second.site,
        related=(
            *(Related("straight pieces, too", each) for each in others),
            Related("first derivative", first[0].site),
        ),
        nodes=tuple(node.key for node in kinks),
        edit=renamed_all(places, {"ReLU": "SiLU", "LeakyReLU": "SiLU", "relu": "silu"}),
        certainty=0.9,
    )
