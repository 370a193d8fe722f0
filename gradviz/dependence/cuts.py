"""Cuts: where a loss depends on a leaf through a call that forgot the graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from gradviz.dependence import learning, modes
from gradviz.dependence.flow import (
    ARRAYS,
    NUMBERS,
    PICKING,
    Crossing,
    Detour,
    Flow,
    name_of,
    words,
)
from gradviz.dependence.learning import once
from gradviz.program import Backward, Call, History, ModeSwitched, RawSite

Kind = Literal[
    "block", "decorator", "left", "checkpoint", "sample", "library",
    "detach", "copy", "numbers", "array", "threshold", "index", "cast", "grad",
    "other",
]  # fmt: skip

_INDEX = words(
    "argmax argmin argsort sort topk max min multinomial nonzero one_hot "
    "searchsorted bucketize bincount kthvalue histc unique mode median "
    "count_nonzero"
)
_THRESHOLD = words(
    "gt ge lt le eq ne greater less greater_equal less_equal not_equal isclose "
    "bool heaviside signbit logical_and logical_or logical_not"
)
_CAST = words("to long int short char byte type type_as")
_COPY = words("tensor as_tensor asarray new_tensor Tensor FloatTensor")
_DETACH = words("detach detach_ data.get detach_copy")
_FLOATING = {"float16", "bfloat16", "float32", "float64", "complex64", "complex128"}

_SAID = ("block", "decorator", "detach")

_PER_SITE = 2  # passes looked at per line of code, from the first and from the last


@dataclass(frozen=True, slots=True)
class Cut:
    """One place where graphs ended on the way to the root of a backward pass."""

    kind: Kind
    backward: Backward
    crossings: tuple[Crossing, ...]
    switch: ModeSwitched | None
    place: RawSite | None  # where gradients were switched off; else of the call
    lost: frozenset[int]  # leaves behind it that no pass of the run reaches
    dead: bool  # the root has no graph at all
    term: str = ""  # what of the loss is cut off, where others still reach the leaves

    @property
    def fed(self) -> bool:
        """Whether what was cut off feeds something that learns."""
        return any(each.fed for each in self.crossings)

    @property
    def is_guess(self) -> bool:
        """Whether nothing tells that what left the library came back as it was."""
        return all(each.detour and not each.detour.seen for each in self.crossings)

    @property
    def call(self) -> Call:
        """The call that forgot the graph, the one nearest to the root."""
        return self.crossings[0].call

    @property
    def detour(self) -> Detour:
        """The way back of what left the library, one whose numbers were seen first."""
        ways = [each.detour for each in self.crossings if each.detour is not None]
        return next((way for way in ways if way.seen), ways[0])


@once
def cuts(history: History) -> list[Cut]:
    """Return the cuts that cost a leaf its gradient.

    A block says what is meant: what another cut costs as well is not laid to it. Nor
    is it laid to what only may have come back.
    """
    found = list(_find(history))
    unsaid, sure = set[int](), set[int]()
    for cut in found:
        unsaid |= cut.lost if cut.kind not in _SAID else set()
        sure |= cut.lost if cut.kind not in _SAID and not cut.is_guess else set()
    return [
        cut
        for cut in found
        if not (cut.kind == "block" and cut.lost <= unsaid)
        and not (cut.is_guess and cut.lost <= sure)
    ]


def is_dead(backward: Backward) -> bool:
    """Return whether no root of a pass has a graph, or is itself a parameter."""
    return bool(backward.roots) and all(
        root.node is None and not root.is_parameter for root in backward.roots
    )


def _find(history: History) -> Iterator[Cut]:
    flow = history.once(Flow)
    trained = learning.trained(history) - learning.starved(history)
    copies = learning.copies(history)
    derivatives = {each.backward for each in history.program.functions}
    for backward in sampled(history):
        dead = is_dead(backward)
        groups: dict[object, list[tuple[Crossing, _Found]]] = defaultdict(list)
        for root in backward.roots:
            for crossing in flow.crossings(root, backward.index):
                frames = crossing.call.frames
                if any(code in derivatives for code, _ in frames):
                    continue  # a custom backward has a rule of its own, GV808
                found = _kind(history, crossing)
                where = found.switch.index if found.switch else found.place
                groups[found.kind, where].append((crossing, found))
        for group in groups.values():
            crossings = tuple(each for each, _ in group)
            behind = _behind(flow, crossings)
            lost = behind if dead else behind - trained - copies
            if lost:
                _, found = group[0]
                yield Cut(
                    found.kind,
                    backward,
                    crossings,
                    found.switch,
                    found.place,
                    frozenset(lost),
                    dead,
                )


def _behind(flow: Flow, crossings: Iterable[Crossing]) -> set[int]:
    return {
        leaf for each in crossings for leaf in flow.leaves(each.source, each.call.index)
    }


@once
def sampled(history: History) -> list[Backward]:
    """Return the first and last passes of each line: a loop repeats itself.

    Of those that are known in full, where a line has any, and of those that failed.
    """
    full = {each.index for each in history.known_in_full}
    by_site: dict[RawSite | None, list[Backward]] = defaultdict(list)
    for each in history.backwards:
        by_site[each.site].append(each)
    chosen = dict[int, Backward]()
    for group in by_site.values():
        told = [each for each in group if each.index in full] or group
        odd = [each for each in group if each.error is not None or is_dead(each)]
        for some in (told, odd):
            ends = (*some[:_PER_SITE], *some[-_PER_SITE:])
            chosen |= {each.index: each for each in ends}
    return [chosen[index] for index in sorted(chosen)]


@dataclass(frozen=True, slots=True)
class _Found:
    """What kind of cut a crossing is, and where."""

    kind: Kind
    place: RawSite | None
    switch: ModeSwitched | None = None


def _kind(history: History, crossing: Crossing) -> _Found:
    call = crossing.call
    if crossing.detour is not None and call.grad_enabled:
        if name_of(crossing.detour.entry) in PICKING:
            return _Found("cast", call.site)
        return _Found(_exported(crossing.detour.export), call.site)
    return _of_call(history, call)


def _exported(export: Call) -> Kind:
    return "array" if name_of(export) in ARRAYS else "numbers"


def reason_of(history: History, call: Call) -> tuple[Kind, RawSite | None]:
    """Return why a call gave a value without its graph, and the line to blame."""
    if not call.outputs and name_of(call) in NUMBERS | ARRAYS:
        return _exported(call), call.site
    found = _of_call(history, call)
    return found.kind, found.place


def _of_call(history: History, call: Call) -> _Found:
    named = _by_name(call)
    if named != "other":
        return _Found(named, call.site)
    switch = None if call.grad_enabled else modes.switched_off(history, call)
    if switch is not None:
        return _Found(modes.how(history, switch, call), switch.site, switch)
    how, place = modes.unlogged(history, call)
    unknown = how == "library" and call.grad_enabled
    return _Found("other" if unknown else how, place)


def blamed(history: History, crossing: Crossing) -> tuple[Kind, RawSite | None]:
    """Return the kind of a crossing, and the call or switch to blame for it."""
    found = _kind(history, crossing)
    return found.kind, found.place


def switch_of(history: History, crossing: Crossing) -> ModeSwitched | None:
    """Return what had switched gradients off where a crossing was made."""
    return _kind(history, crossing).switch


def ends_graph(call: Call) -> bool:
    """Return whether a call gives positions, decisions or plain numbers of a graph."""
    if not call.inputs or not call.inputs[0].requires_grad:
        return False
    named = name_of(call) in NUMBERS | ARRAYS and not call.outputs
    return named or _by_name(call) in ("index", "threshold", "cast")


def drops_graph(call: Call) -> bool:
    """Return whether a call gives a result of a graph without it, whatever the mode."""
    return ends_graph(call) or _by_name(call) == "detach"


def _by_name(call: Call) -> Kind:
    op = name_of(call)
    if op in _DETACH:
        return "detach"
    if op in NUMBERS and not call.outputs:
        return "numbers"
    if op in _THRESHOLD:
        return "threshold"
    made = {value.dtype for value in call.outputs}
    whole = not call.outputs or any(dtype not in _FLOATING for dtype in made)
    if op in _INDEX and whole:
        return "index"
    if op in _CAST and whole:
        return "threshold" if made == {"bool"} else "cast"
    return "copy" if op in _COPY else "other"
