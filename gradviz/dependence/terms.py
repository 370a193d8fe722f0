"""The account of a loss: what the root of a backward pass was added up from.

Derivatives are linear, so a root is taken apart along everything that is linear too:
sums and differences, products and quotients with constants, stacks that are summed,
``loss += …``. What is left are its terms. Those without a graph are among them: they
were meant to count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from math import prod

from gradviz.dependence.alike import alike
from gradviz.dependence.op_families import JOINS, MULTIPLICATIONS, words
from gradviz.dependence.reach import Reach
from gradviz.program import Backward, Call, History, Node, RawSite, Value

_MOST = 2_000  # terms of one account
_FEW = 50  # of a difference

_ADDING: dict[str, float] = {"add": 1.0, "radd": 1.0, "iadd": 1.0, "sub": -1.0}
_ADDING.update(isub=-1.0, rsub=-1.0, subtract=-1.0)
"""By which factor the second operand counts."""

_DIVIDING = words("div truediv idiv itruediv divide true_divide")
_REDUCING = words("sum mean nansum nanmean")
_MOVING = words(
    "view reshape squeeze unsqueeze flatten ravel view_as permute transpose t"
)
_SAME = _MOVING | words(
    "alias clone contiguous cpu cuda to type float double half bfloat16"
)


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of a root: a tensor, or a plain number that was added."""

    value: Value | None  # None: a number
    number: float | None  # None: a tensor
    made: Call | None  # what computed the tensor, as far as the log knows
    use: Call | None  # what added it; None: it is the root itself
    weight: float | None  # the root's derivative by each element; None: not known

    @property
    def has_graph(self) -> bool:
        """Whether a pass from the root walks into it at all."""
        return self.value is not None and self.value.requires_grad

    @property
    def site(self) -> RawSite | None:
        """The line that computed it, else the one that added it."""
        call = self.made or self.use
        return None if call is None else call.site

    @property
    def line(self) -> tuple[RawSite | None, RawSite | None]:
        """What it has in common with the terms of other steps and turns of a loop."""
        return self.site, None if self.use is None else self.use.site


@dataclass(eq=False)
class Account:
    """The terms of one backward pass.

    What it says of a term it says of all terms of one line together, as of the turns of
    a loop that adds to a loss.
    """

    history: History
    backward: Backward
    terms: tuple[Term, ...]

    @cached_property
    def _reach(self) -> Reach:
        starts = self.backward.root_nodes
        return Reach(self.history, self.backward, starts, self._by_line)

    @cached_property
    def _by_line(self) -> dict[object, set[tuple[int, int]]]:
        """The edges, node and output, at which the terms of each line begin."""
        found: dict[object, set[tuple[int, int]]] = {}
        for term in self.terms:
            edge = _edge(self.history, self.backward, term.value)
            if edge is not None:
                found.setdefault(term.line, set()).add(edge)
        return found

    @cached_property
    def line(self) -> tuple[RawSite | None, RawSite | None]:
        """What it has in common with other steps: the pass, and what made its root.

        One line may walk several losses in turn, as of a generator and its critic.
        """
        root = next(iter(self.backward.roots), None)
        before = self.backward.index
        made = None if root is None else self.history.producer(root, before=before)
        return self.backward.site, None if made is None else made.site

    def lines(self) -> list[Term]:
        """Return one term of each line, the last that was added."""
        return list({term.line: term for term in reversed(self.terms)}.values())

    def name(self, term: Term) -> str:
        """Return "`recon` (line 12)", else its expression and line."""
        history = self.history
        name = "" if term.value is None else history.name(term.value, "")
        return f"{name or f'`{history.text(term.site)}`'} ({history.line(term.site)})"

    def leaves(self, term: Term) -> set[int]:
        """Return the leaf tensors that a pass reaches through a term."""
        return self._reach.leaves(term.line)

    def nodes(self, term: Term) -> list[Node]:
        """Return the nodes that a pass walks through a term, the first ones first."""
        return self._reach.nodes(term.line)

    def moved(self, term: Term) -> set[int] | None:
        """Return the leaves to which more than zeros came through a term.

        Ways on which a node gave nothing but zeros are none. None: not measured.
        """
        return self._reach.moved(term.line)

    def arrived(self, term: Term) -> float | None:
        """Return the norm of the gradient that came to a term; None: not measured."""
        return self._reach.arrived(term.line)

    def gives(self, term: Term) -> bool | None:
        """Tell whether anything but zeros went from a term on to a leaf, or to a part
        that it shares with other terms; None: not measured."""
        return self._reach.gives(term.line)

    def share(self, term: Term, leaf: int) -> float | None:
        """Return which part of a leaf's gradient comes from a term, between 0 and 1.

        The norm of what the term gave, over the sum of these norms for all terms;
        where terms share the way to the leaf, of what came to `meeting`. None where it
        cannot be told apart: not measured, or they meet in several places.
        """
        return self._reach.share(term.line, leaf)

    def meeting(self, leaf: int) -> Value | None:
        """Return the value above a leaf at which the terms' gradients were added up.

        None where that is the leaf itself, or where the call that made it is not known.
        """
        edge = self._reach.meeting(leaf)
        node = None if edge is None else self.history.node(edge[0])
        made = None if node is None else self.history.maker(node)
        outputs = () if made is None else made.outputs
        return outputs[edge[1]] if edge and edge[1] < len(outputs) else None


class Accounts:
    """The accounts of all passes of a run, each made when it is asked for.

    >>> from gradviz.program import Program
    >>> list(Accounts(History(Program("gradtape"))))
    []
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self._made: dict[int, Account] = {}

    def __iter__(self) -> Iterator[Account]:
        return map(self.of, self.history.backwards)

    def of(self, backward: Backward) -> Account:
        """Return the account of a pass."""
        made = self._made.get(backward.index)
        if made is None:
            terms = taken_apart(self.history, backward.roots, backward.index)
            made = self._made[backward.index] = Account(self.history, backward, terms)
        return made


def taken_apart(
    history: History, roots: Iterable[Value], before: int
) -> tuple[Term, ...]:
    """Return the terms that values were added up from, those nearest to them first.

    A term that is added twice is one, and has the sum of both weights: of ``x - x``
    that is 0. Linear in the calls that add up.
    """
    walk = _Walk(history)
    for root in roots:
        walk.meet(root, before, None, 1.0)
    return tuple(walk.terms())


def multiple_of(history: History, term: Term) -> Iterator[tuple[Value, float | None]]:
    """Yield what a term is a multiple of, itself first, and the weight of each.

    Through sums and means of its elements, constant factors and added constants.
    """
    value, weight, made = term.value, term.weight, term.made
    while value is not None and value.requires_grad:
        yield value, weight
        if made is None:
            return
        name = _name(made)
        only = _carried(made, name)
        learning = [each for each in made.inputs if each.requires_grad]
        if name in _REDUCING:
            only = made.inputs[0], _reduced(made, name, value)
        elif name in _ADDING and len(learning) == 1:
            parts = _summands(made, name, value) or []
            only = next(((learning[0], f) for e, f in parts if e is learning[0]), None)
        if only is None:
            return
        value, weight = only[0], _times(weight, only[1])
        made = latest(history, value, made.index)


@dataclass(frozen=True, slots=True)
class StraightThrough:
    """``x + (q - x).detach()``: the values of ``q``, and the gradient goes to ``x``."""

    result: Value
    passed: Value  # x
    shown: Value  # q


def straight_through(history: History, cut: Call) -> StraightThrough | None:
    """Return the straight-through estimator that a cut is part of, if it is."""
    if not (cut.inputs and cut.outputs and cut.inputs[0].requires_grad):
        return None
    walk = _Walk(history, most=_FEW, aligned=True)
    walk.meet(cut.inputs[0], cut.index, None, 1.0)
    weights = {t.value.tensor: t for t in walk.terms() if t.value is not None}
    shown = [t.value for t in weights.values() if t.weight == 1]
    for use in history.uses(cut.outputs[0].tensor, cut.index) if shown else ():
        for each in use.inputs if _name(use) in ("add", "radd", "iadd") else ():
            taken = weights.get(each.tensor)
            if taken is not None and taken.weight == -1 and shown[0] is not None:
                return StraightThrough(use.outputs[0], each, shown[0])
    return None


def cancels(history: History, call: Call) -> bool:
    """Tell whether the two operands of a difference have the same derivatives.

    Then nothing that is computed from the difference moves what it was computed from:
    of ``w - w``, of ``x + (q - x).detach() - x``, of a result that was computed twice.
    Only sums, differences and constant factors of tensors of one shape are looked
    through.
    """
    one, other = call.inputs[:2]
    if one.shape != other.shape or not (one.requires_grad and other.requires_grad):
        return False
    walk = _Walk(history, most=_FEW, aligned=True)
    walk.meet(one, call.index, None, 1.0)
    walk.meet(other, call.index, None, -1.0)
    left = [term for term in walk.terms() if term.has_graph and term.weight != 0]
    while left and walk.is_whole:
        term = left.pop()
        twin = next((e for e in left if _cancel(history, term, e, call.index)), None)
        if twin is None:
            return False
        left.remove(twin)
    return walk.is_whole


def _cancel(history: History, one: Term, other: Term, before: int) -> bool:
    if one.value is None or other.value is None:
        return False
    weight = _plus(one.weight, other.weight)
    return weight == 0 and alike(history, one.value, other.value, before)


# ---- the walk from a root down to its terms -----------------------------------------


class _Walk:
    """Goes from sums to what they add, latest call first: each is met once."""

    def __init__(
        self, history: History, most: int = _MOST, aligned: bool = False
    ) -> None:
        self.history = history
        self.most = most
        self.aligned = aligned  # element by element: nothing that changes the shape
        self._met: dict[tuple[int, int], Term] = {}
        self._waiting: list[tuple[int, int]] = []  # (minus the call's index, tensor)
        self._numbers: list[Term] = []

    def meet(
        self,
        operand: Value | float,
        before: int,
        use: Call | None,
        weight: float | None,
    ) -> None:
        if not isinstance(operand, Value):
            if operand:  # ``total = 0`` and sum() begin with one
                self._numbers.append(Term(None, operand, None, use, weight))
            return
        made = latest(self.history, operand, before)
        key = -1 if made is None else -made.index, operand.tensor
        known = self._met.get(key)
        if known is None:
            self._met[key] = Term(operand, None, made, use, weight)
            heappush(self._waiting, key)
        else:
            self._met[key] = replace(known, weight=_plus(known.weight, weight))

    def terms(self) -> Iterator[Term]:
        count = 0
        while self._waiting and count < self.most:
            term = self._met[heappop(self._waiting)]
            parts = self._parts(term)
            if parts is None and not _is_start(term):
                count += 1
                yield term
            for operand, factor in parts or ():
                assert term.made is not None
                weight = _times(term.weight, factor)
                self.meet(operand, term.made.index, term.made, weight)
        yield from self._numbers

    @property
    def is_whole(self) -> bool:
        """Whether all terms were found."""
        return not self._waiting

    def _parts(self, term: Term) -> list[tuple[Value | float, float | None]] | None:
        parts = _parts(self.history, term)
        if self.aligned and term.made is not None and parts is not None:
            shapes = {each.shape for each, _ in parts if isinstance(each, Value)}
            name = _name(term.made)
            if name in _MOVING | {"setitem"} or shapes != {
                term.value.shape if term.value else ()
            }:
                return None
        return parts


def _parts(
    history: History, term: Term
) -> list[tuple[Value | float, float | None]] | None:
    """Return what a tensor is the weighted sum of; None where it is a term itself."""
    call, value = term.made, term.value
    if call is None or value is None or not value.requires_grad:
        return None
    name = _name(call)
    if name == "setitem":
        return [(each, 1.0) for each in call.inputs]
    if name in _ADDING:
        return _summands(call, name, value)
    if name in JOINS:
        return [(each, 1.0) for each in call.inputs]
    if name in _REDUCING:
        splits = _splits(history, call.inputs[0], call.index)
        return [(call.inputs[0], _reduced(call, name, value))] if splits else None
    only = _carried(call, name)
    return None if only is None else [only]


def _summands(
    call: Call, name: str, value: Value
) -> list[tuple[Value | float, float | None]] | None:
    given = [each for each in call.arguments if isinstance(each, Value | float | int)]
    given += [call.keywords["other"]] if "other" in call.keywords else []
    alpha = call.keywords.get("alpha", 1)
    if len(given) < 2 or not isinstance(alpha, int | float):
        return None
    factors = [1.0, _ADDING[name] * alpha]
    if name == "rsub":
        factors.reverse()
    count = prod(value.shape)
    return [
        (
            each,
            factor
            * count
            / max(1, prod(each.shape if isinstance(each, Value) else ())),
        )
        for each, factor in zip(given[:2], factors, strict=True)
    ]


def _carried(call: Call, name: str) -> tuple[Value, float | None] | None:
    """Return the one operand that a call hands on, and by which factor."""
    first = call.inputs[0] if call.inputs else None
    if first is None:
        return None
    if name == "neg":
        return first, -1.0
    if name in _SAME:
        return (first, 1.0) if first.requires_grad else None
    if name not in MULTIPLICATIONS and name not in _DIVIDING:
        return None
    learning = [each for each in call.inputs if each.requires_grad]
    factors = [
        each
        for each in (*call.arguments, *call.keywords.values())
        if isinstance(each, int | float) and not isinstance(each, bool)
    ]
    constants = [each for each in call.inputs if not each.requires_grad]
    if len(learning) != 1 or len(factors) + len(constants) != 1:
        return None
    factor = factors[0] if factors else _single(constants[0])
    if name in _DIVIDING:
        if learning[0] is not first:
            return None  # a number over what learns
        factor = None if not factor else 1 / factor
    return learning[0], factor


def multiplier(call: Call) -> float | None:
    """Return by which number a call multiplies its one tensor; None if it does more."""
    only = _carried(call, _name(call))
    return None if only is None else only[1]


def largest_factor(call: Call) -> float:
    """Return by how much a call scales its one learning operand at most.

    The largest element counts of a constant that differs from element to element, such
    as a mask times a discount; 1 of what scales nothing, and of what was not seen.
    """
    name = _name(call)
    if name not in MULTIPLICATIONS | _DIVIDING:
        return 1.0
    constants = [each.summary for each in call.inputs if not each.requires_grad]
    ends = [(each.minimum, each.maximum) for each in constants if each is not None]
    sizes = [
        max(-low, high) for low, high in ends if low is not None and high is not None
    ]
    numbers = [abs(each) for each in call.arguments if isinstance(each, int | float)]
    factor = prod([*sizes, *numbers])
    if name in _DIVIDING:
        return 1 / factor if factor else 1.0
    return factor


def _splits(history: History, value: Value, before: int) -> bool:
    """Tell whether what is reduced is a sum, or a stack, of several tensors."""
    while True:
        call = latest(history, value, before)
        if call is None or not value.requires_grad:
            return False
        name = _name(call)
        if name in JOINS or name == "setitem" or name in _ADDING:
            return len({each.tensor for each in call.inputs}) > 1
        only = _carried(call, name)
        if only is None and name in _REDUCING:
            only = call.inputs[0], 1.0
        if only is None:
            return False
        value, before = only[0], call.index


def latest(history: History, value: Value, before: int) -> Call | None:
    """Return the call that gave a tensor what it holds, or wrote a part of it."""
    made = history.last_producer(value, before)
    written = history.writes(value.storage, before=before)
    last = written[-1][0] if written else None
    into = last is not None and _name(last) == "setitem"
    if last is not None and into and last.inputs[0].tensor == value.tensor:
        return last if made is None or last.index > made.index else made
    return made


def _is_start(term: Term) -> bool:
    """Tell whether a term is what a sum began with: zeros that nobody computed."""
    empty = term.made is None or not term.made.inputs
    summary = term.value.summary if term.value is not None else None
    zeros = summary is not None and summary.zeros == summary.count
    return (
        empty and not term.has_graph and (zeros or _name(term.made).startswith("zeros"))
    )


def _reduced(call: Call, name: str, result: Value) -> float:
    if "mean" not in name:
        return 1.0
    return prod(result.shape) / max(1, prod(call.inputs[0].shape))


def _single(value: Value) -> float | None:
    """Return the one number that all elements of a constant are, if it was seen."""
    summary = value.summary
    same = summary is not None and summary.minimum == summary.maximum
    return summary.minimum if summary is not None and same else None


def _plus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _times(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one * other


def _name(call: Call | None) -> str:
    return "" if call is None else call.op.strip("_")


def _edge(
    history: History, backward: Backward, value: Value | None
) -> tuple[int, int] | None:
    """Return the node and output that stand for a tensor in the graph of a pass."""
    if value is None or not value.requires_grad:
        return None
    if value.node is not None:
        return value.node, value.output
    return next(
        (
            (key, 0)
            for key in backward.nodes
            if (node := history.node(key)) is not None and node.leaf == value.tensor
        ),
        None,
    )
