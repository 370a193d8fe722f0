"""How gradients grow and shrink on their way through a backward pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradviz.dependence.op_families import function_of, plain
from gradviz.diagnosis.decisions.decision import Decision
from gradviz.diagnosis.decisions.numbers import of_scale
from gradviz.diagnosis.rule import Related
from gradviz.program import (
    Backward,
    Call,
    History,
    ModuleCall,
    Node,
    NodeRun,
    RawSite,
    Summary,
    Value,
)

_LEAST = 2  # passes that must agree
_NEXT_TO_NOTHING = 1e-6  # of a gradient, that is left of it
_REPEATED = 3  # weights that one line must have written, to be their cause

TINY = 1e-45
"""Stands for a norm of 0: the least number above it in float32."""


@dataclass(slots=True, eq=False)
class Chain:
    """Nodes of one kind that a pass ran one after the other, and their gradients."""

    backward: Backward
    nodes: list[Node]
    norms: list[float]  # of the gradient that came into each
    own: float = 0.0  # logarithm of what the nodes themselves multiplied it with

    @property
    def ratio(self) -> float:
        """The last gradient over the first."""
        return max(self.norms[-1], TINY) / max(self.norms[0], TINY)

    def forward_ratio(self, history: History) -> float:
        """Return by how much values grew on their way forward: 0 where not known."""
        norms = [_operand_norm(history, each) for each in self.nodes]
        last, first = norms[0], norms[-1]
        return last / first if first > 0.0 else 0.0

    def steady(self, direction: int) -> bool:
        """Tell whether most steps go one way, and no single one makes the ratio."""
        steps = [direction * step for step in self.steps()]
        total = sum(steps)
        forward = sum(step > 0 for step in steps)
        return total > 0 and forward >= 0.75 * len(steps) and max(steps) < 0.6 * total

    def steps(self) -> list[float]:
        """Return the logarithm of the factor from each gradient to the next."""
        logs = [math.log(max(norm, TINY)) for norm in self.norms]
        return [after - before for before, after in pairwise(logs)]

    def blamed(self, history: History, direction: int) -> Node:
        """Return a node of the line that contributes most to the ratio."""
        sums: dict[int, float] = {}
        first: dict[int, Node] = {}
        for node, step in zip(self.nodes, self.steps(), strict=False):
            if node.site is not None:
                line = history.places.line(node.site)
                sums[line] = sums.get(line, 0.0) + direction * step
                first.setdefault(line, node)
        if not sums:
            return self.nodes[0]
        return first[max(sums, key=lambda line: sums[line])]


def _operand_norm(history: History, node: Node) -> float:
    """Return the norm of the largest thing that a node computed with, but weights."""
    call = history.maker(node)
    given = [] if call is None else [e for e in call.inputs if not e.is_parameter]
    norms = [e.summary.norm for e in given if e.summary is not None]
    return max((each for each in norms if each is not None), default=0.0)


def chains(history: History, backward: Backward, least: int) -> Iterator[Chain]:
    """Yield the chains of a pass that have at least so many nodes."""
    found: dict[str, Chain] = {}
    for run in backward.runs:
        node = history.node(run.node)
        norm = norm_of(run.incoming)
        if node is None or norm is None or node.name.startswith("AccumulateGrad"):
            continue
        chain = found.setdefault(node.name, Chain(backward, [], []))
        chain.nodes.append(node)
        chain.norms.append(norm)
        chain.own += math.log(max(norm_of(run.outgoing) or 0.0, TINY))
        chain.own -= math.log(max(norm, TINY))
    yield from (chain for chain in found.values() if len(chain.nodes) >= least)


def norm_of(gradients: tuple[Summary | None, ...]) -> float | None:
    """Return the norm of several gradients together; None where they are unknown."""
    squares = [each.norm**2 for each in gradients if each and each.norm is not None]
    return math.sqrt(sum(squares)) if squares else None


def leaf_norms(
    history: History, backward: Backward, after: Node | None = None
) -> dict[int, float]:
    """Return the norm of the gradient that each leaf got from a pass.

    Of those alone that got theirs after a node ran, where one is given.
    """
    found: dict[int, float] = {}
    keys = [run.node for run in backward.runs]
    first = 0 if after is None else keys.index(after.key)
    for run in backward.runs[first:]:
        node = history.node(run.node)
        norm = norm_of(run.incoming)
        if node is not None and node.leaf is not None and norm is not None:
            found[node.leaf] = norm
    return found


def without_gradient(history: History) -> set[int]:
    """Return the leaves whose gradient was exactly 0 in each of several passes."""
    norms: dict[int, list[float]] = {}
    for backward in history.backwards:
        for leaf, norm in leaf_norms(history, backward).items():
            norms.setdefault(leaf, []).append(norm)
    return {
        leaf for leaf, found in norms.items() if len(found) >= _LEAST and not any(found)
    }


def all_zero(value: Value) -> bool:
    """Tell whether a scan found nothing but zeros."""
    summary = value.summary
    return summary is not None and 0 < summary.count == summary.zeros


def vanishes(history: History, run: NodeRun) -> bool:
    """Tell whether a node run turned a gradient into (almost) nothing."""
    incoming, outgoing = norm_of(run.incoming), norm_of(run.outgoing)
    return (
        incoming is not None
        and incoming > 0
        and outgoing is not None
        and outgoing <= _NEXT_TO_NOTHING * incoming
    )


# ---- where a value comes from -------------------------------------------------------

_SAME = (
    "view reshape flatten squeeze unsqueeze transpose t permute contiguous clone "
    "detach to float double half bfloat16 type expand repeat requires_grad cpu cuda "
    "T.get mT.get getitem unflatten narrow chunk split unbind stack cat to_copy "
    "data.get as_tensor T mT"
)


def origin(
    history: History, value: Value, before: int, *, codes: bool = False
) -> Call | None:
    """Return the call that gave a tensor its contents: its last writer or its maker.

    Reshaping and casting are looked through; with ``codes``, not that of integers: as
    pixels are, these are codes, and their size matters from where they became numbers.
    """
    for _ in range(50):
        writes = history.writes(value.storage, before=before)
        call = writes[-1][0] if writes else history.producer(value, before)
        if call is None or writes or plain(call.op) not in _SAME.split():
            return call
        if not call.inputs or (codes and _made_a_float(call)):
            return call
        value, before = call.inputs[0], call.index
    return None


def largest_source(
    history: History, call: Call, above: float
) -> tuple[RawSite | None, Value | None]:
    """Return where the large values that reach a call were made, and the tensor.

    Follows the largest operand from call to call. Where no operand is large the call
    itself made them so.
    """
    site, found = call.site, None
    for _ in range(100):
        sized = [
            (size, value)
            for value in call.inputs
            if (size := magnitude(value.summary)) is not None
        ]
        if not sized:
            return site, found
        size, value = max(sized, key=lambda each: each[0])
        if size < above:
            return site, found
        found = value
        maker = origin(history, value, call.index, codes=True)
        if maker is None:
            facts = history.program.tensors.get(value.tensor)
            return (facts.made if facts and facts.made else site), found
        site = maker.site or site
        if value.is_leaf or not maker.inputs or _made_a_float(maker):
            return site, found
        call = maker
    return site, found


def _made_a_float(call: Call) -> bool:
    """Tell whether a call took integers for numbers to compute with."""
    (given, *_), result = call.inputs, call.outputs[:1]
    return "int" in given.dtype and any("float" in each.dtype for each in result)


def magnitude(summary: Summary | None) -> float | None:
    """Return the largest absolute finite value of a scan."""
    if summary is None or summary.minimum is None or summary.maximum is None:
        return None
    return max(abs(summary.minimum), abs(summary.maximum))


def initialised(history: History, chain: Chain) -> Decision | None:
    """Return the one line that chose the first values of the weights of a chain.

    None where it is not one for most of them, and for the values that modules of the
    library choose themselves.
    """
    own = {each.site for each in history.program.modules.values()}
    found: dict[int, Call | None] = {}
    for node in chain.nodes:
        call = history.maker(node)
        for value in () if call is None else call.inputs:
            weight = value.is_leaf and value.requires_grad and len(value.shape) > 1
            if weight and call is not None and value.tensor not in found:
                before = history.writes(value.storage, before=call.index)
                writers = [each for each, _ in before if each.op != "step"]
                chose = writers[-1] if writers and writers[-1].site not in own else None
                found[value.tensor] = chose
    sites = [each and each.site for each in found.values()]
    site = max(sites, key=sites.count, default=None)
    usual = len(sites) >= _REPEATED and sites.count(site) > 0.75 * len(sites)
    writer = next((each for each in found.values() if each and each.site == site), None)
    return of_scale(history, writer) if usual and writer is not None else None


def chain_places(place: RawSite | None, drawn: Decision | None) -> tuple[Related, ...]:
    """Return the lines of a chain and its weights, where what chose those is blamed."""
    if drawn is None:
        return ()
    return Related("repeated here", place), Related("used here", drawn.made)


def weights_words(history: History, drawn: Decision | None, size: str) -> str:
    """Say where weights were made so small, or so large; "" where it is not known."""
    if drawn is None:
        return ""
    site = drawn.made or drawn.site
    made = history.quoted(site)
    if drawn.is_elsewhere:
        made += f", from `{drawn.text}` ({history.line(drawn.site)})"
    return f" Their weights were made so {size} in {made}."


def course(history: History, chain: Chain, node: Node, *, grows: bool) -> str:
    """Say how a gradient changes along a chain, most of all in the line of a node."""
    verb, moves = ("grows", "rises") if grows else ("shrinks", "falls")
    count, call = len(chain.nodes), history.maker(node)
    name = node.name if call is None else plain(call.op)
    factor = chain.ratio ** (1 / (count - 1))
    return (
        f"The gradient {verb} on its way through {count} runs of `{name}`, most of it "
        f"in {history.quoted(user_place(history, node))}: its norm {moves} from "
        f"{chain.norms[0]:.2g} to {chain.norms[-1]:.2g}, about {factor:.2g} times per "
        "run"
    )


def user_place(history: History, node: Node) -> RawSite | None:
    """Return the line to blame for a node: of its call, or of its module's making.

    A container of the library calls its modules from one line of the user, so there
    the line that constructed the module says more.
    """
    call = history.maker(node)
    event = history.at(call.module if call is not None else node.module)
    if isinstance(event, ModuleCall):
        outer = history.at(event.parent)
        made = history.program.modules.get(event.module)
        if isinstance(outer, ModuleCall) and made is not None and made.site is not None:
            kind = history.program.modules.get(outer.module)
            if kind is not None and kind.kind in ("Sequential", "ModuleList"):
                return made.site
    return node.site


def is_activation(node: Node, *names: str) -> bool:
    """Tell whether a node is one of these functions."""
    return function_of(node.name) in names
