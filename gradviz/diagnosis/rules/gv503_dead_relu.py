"""GV503: a ReLU that is 0 for every element of every batch.

What it does
    Finds ReLUs after a layer whose operand is never above 0, so that they pass on
    neither values nor gradients, and names the last writer of what makes it negative.
Why is this bad
    The layer before it gets a gradient of exactly 0 and never recovers.
Example
    ``nn.init.constant_(layer.bias, -10.0)``
Use instead
    A bias of 0, or a leaky ReLU; a smaller learning rate if training killed it.
When it stays quiet
    Any element was above 0 in the last passes; ReLUs of a loss, such as a hinge; layers
    so small that this happens by chance.
References
    Lu et al., 2019, Dying ReLU and Initialization.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.dependence.learning import steps
from gradviz.dependence.op_families import of_op, plain
from gradviz.diagnosis.edits.leaves import started_at_zero
from gradviz.diagnosis.gradient_flow import is_activation, origin, user_place
from gradviz.diagnosis.rule import Hit, Related, rule
from gradviz.diagnosis.rules._gradients import any_nonzero
from gradviz.program import Call, History, Node, NodeRun, RawSite, Value

_RELUS = ("relu", "relu6", "threshold", "clamp", "clamp_min")
_BY_CHANCE = 8  # fewer units than this may all be negative without a cause


@rule("GV503", "dead-relu", "warning")
def check(history: History) -> Iterator[Hit]:
    """Yield the ReLUs that were dead in the last passes."""
    runs: dict[object, list[tuple[Node, NodeRun]]] = {}
    for backward in history.backwards:
        for run in backward.runs:
            node = history.node(run.node)
            if node is not None and is_activation(node, *_RELUS):
                runs.setdefault(_place(history, node), []).append((node, run))
    for found in runs.values():
        last = found[-max(2, len(found) // 2) :]
        if all(_dead(run) for _, run in last):
            alive = [at for at, (_, run) in enumerate(found, 1) if not _dead(run)]
            dead = found[alive[-1] if alive else 0 :]
            before = found[alive[-1] - 1][0] if alive else None
            yield from _hit(history, [node for node, _ in dead], before)


def _place(history: History, node: Node) -> object:
    call = history.maker(node)
    event = history.at(call.module) if call is not None else None
    return node.site, getattr(event, "module", None)


def _dead(run: NodeRun) -> bool:
    return (
        any_nonzero(run.incoming)
        and not any_nonzero(run.outgoing)
        and any(each is not None for each in run.outgoing)
    )


def _hit(history: History, nodes: list[Node], before: Node | None) -> Iterator[Hit]:
    node = nodes[0]
    call = history.maker(node)
    layer = _layer(history, call) if call is not None else None
    if call is None or layer is None or not call.inputs:
        return
    summary = call.inputs[0].summary
    if summary is None or summary.maximum is None or summary.maximum > 0:
        return
    units = call.inputs[0].shape[1:2] or (1,)
    if units[0] < _BY_CHANCE and summary.maximum > -1:
        return
    site, what = _cause(history, layer)
    if site is None and before is not None:
        site, what = _killed(history, before, node)
    relu = user_place(history, node)
    yield Hit(
        f"{history.quoted(relu)} is 0 for all {summary.count} elements: its operand "
        f"lies in [{summary.minimum:g}, {summary.maximum:g}]. No gradient passes it, "
        f"so the layer before it cannot learn.{what}",
        culprit=site or relu,
        fix="Initialise the bias of this layer with 0 and its weights around 0; if "
        "training killed it, lower the learning rate, or use leaky_relu.",
        symptom=relu,
        related=(
            Related("always 0", relu),
            Related("computed here", layer.site),
        ),
        nodes=tuple(each.key for each in nodes),
        edit=started_at_zero(site),
        certainty=0.7,
    )


def _layer(history: History, call: Call) -> Call | None:
    """Return the layer that feeds a ReLU: a product with a parameter, maybe a sum."""
    for value in call.inputs[:1]:
        feeding = history.last_producer(value, call.index)
        if feeding is not None and _is_layer(history, feeding):
            return feeding
    return None


def _is_layer(history: History, call: Call) -> bool:
    if "norm" in call.op or plain(call.op).startswith("conv"):
        return True
    if of_op(call.op) != "product":
        return False
    if plain(call.op) in ("add", "radd", "sub"):  # of a bias, not of a margin
        makers = [history.last_producer(value, call.index) for value in call.inputs]
        first = makers if plain(call.op) != "sub" else makers[:1]
        return any(
            each is not None and each.index < call.index and _is_layer(history, each)
            for each in first
        )
    if plain(call.op) == "rsub":
        return False
    return any(value.is_leaf and value.requires_grad for value in call.inputs)


def _cause(history: History, layer: Call) -> tuple[RawSite | None, str]:
    """Return who made the operand negative, in a sentence with a space before it."""
    negative = [value for value in _leaves(history, layer) if _below_zero(value)]
    if not negative:
        return None, ""
    value = min(
        negative, key=lambda each: each.summary.minimum or 0.0 if each.summary else 0.0
    )
    name = history.name(value, "one operand of that layer")
    maker = origin(history, value, layer.index)
    facts = history.program.tensors.get(value.tensor)
    if maker is None:
        return (facts.made if facts is not None else None), f" {name} is negative."
    if maker.op == "step":
        return maker.site, (
            f" {name} was pushed below 0 by the step of {history.line(maker.site)}."
        )
    return maker.site, f" {name} was made negative in {history.quoted(maker.site)}."


def _killed(history: History, before: Node, node: Node) -> tuple[RawSite | None, str]:
    """Return the optimizer whose steps left nothing of a ReLU that was alive."""
    for step in steps(history):
        optimizer = history.program.optimizers.get(step.optimizer)
        if (before.call or 0) < step.index < (node.call or 0) and optimizer is not None:
            return optimizer.site, (
                f" It was alive before the step of {history.line(step.site)}: the "
                f"learning rate in {history.line(optimizer.site)} is too large for it."
            )
    return None, ""


def _leaves(history: History, layer: Call) -> list[Value]:
    """Return the leaves that a layer and the product before its sum take."""
    found: list[Value] = []
    for value in layer.inputs:
        if value.is_leaf or not value.requires_grad:
            found.append(value)
            continue
        maker = history.last_producer(value, layer.index)
        if maker is not None and maker.index < layer.index:
            found += [each for each in maker.inputs if each.is_leaf]
    return found


def _below_zero(value: Value) -> bool:
    summary = value.summary
    return summary is not None and summary.maximum is not None and summary.maximum < 0
