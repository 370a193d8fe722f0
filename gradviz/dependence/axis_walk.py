"""Follows the axes of all tensors of a run, from the first call to the last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from gradviz.dependence.axes import (
    Axis,
    Dim,
    Dims,
    Factor,
    Move,
    axes_in,
    fits,
    joined,
    new,
)
from gradviz.dependence.axis_facts import Axes, Meeting, Padding, Pick, Scan
from gradviz.dependence.axis_indexing import indexed
from gradviz.dependence.axis_ops import REDUCTIONS, RULES, ints, reduced
from gradviz.dependence.axis_padding import Filling
from gradviz.dependence.axis_samples import Loaders
from gradviz.dependence.axis_views import Mix, mixed_in, reshaped, taken_again
from gradviz.dependence.flow import dimension, words
from gradviz.dependence.nesting import is_part
from gradviz.dependence.op_families import (
    CLASS_LOSSES,
    LOSSES,
    RECURRENT,
    RESHAPES,
    plain,
)
from gradviz.program import Backward, Call, History, ModuleCall, Value

MOST_CALLS = 20_000
"""Calls that are followed until the first pass is over."""

MOST_LATER = 4_000
"""Calls that are followed from there on: steps do the same with their axes."""

_SEQUENCE_LAYERS = words("LSTM GRU RNN")
_COMPARING = LOSSES | words(
    "sub rsub subtract eq kl_div gaussian_nll_loss poisson_nll_loss soft_margin_loss "
    "multilabel_soft_margin_loss hinge_embedding_loss"
)
_FEATURES = RECURRENT | words("linear multi_head_attention_forward")
_PLACED = _FEATURES | words(
    "matmul bmm mm conv1d conv2d conv3d convolution softmax log_softmax einsum baddbmm"
)
_OWN = words("zeros_like ones_like full_like empty_like")
_MOST_MEETINGS = 4_000


def over(call: Call) -> int:
    """Return the dimension that a softmax runs over; unsaid, as PyTorch has it."""
    said = dimension(call, "dim", "axis")
    if said is not None:
        return said
    return 0 if len(call.inputs[0].shape) in (0, 1, 3) else 1


def axes_of(history: History) -> Axes:
    """Return the axes of a run."""
    walk = _Walk(history)
    left = MOST_CALLS
    for event in history.events:
        if isinstance(event, Call):
            if left <= 0:
                break
            left -= 1
            walk.call(event)
        elif isinstance(event, Backward):
            left = min(left, MOST_LATER)
        elif isinstance(event, ModuleCall):
            walk.module(event)
    return walk.axes


class _Walk:
    def __init__(self, history: History) -> None:
        self.history = history
        self.axes = Axes()
        self._taken: dict[int, tuple[Dim, int]] = {}  # tensor -> where it was picked
        self._filling = Filling(self.axes)
        self._layers: dict[int, _Layer] = {}  # sequence layers, by event
        self._inside: dict[int, _Layer] = {}  # tensor -> the layer that made it
        self._packed: dict[int, tuple[Dim, Dim]] = {}
        self._loaders = Loaders(history)

    # ---- events ----------------------------------------------------------------------

    def module(self, event: ModuleCall) -> None:
        """Learn of a sequence layer whose steps are calls of their own."""
        module = self.history.program.modules.get(event.module)
        if module is not None and module.kind in _SEQUENCE_LAYERS:
            self._layers[event.index] = _Layer(event)

    def call(self, call: Call) -> None:
        """Follow the axes of one call."""
        if call.error is not None or is_part(self.history, call):
            return
        name = plain(call.op)
        layer = self._layers.get(call.module) if call.module is not None else None
        if layer is not None and name not in RECURRENT:
            self._step(layer, call, name)
            return
        if call.writes:
            self._filling.learn(call, name)
            self.axes.written.update([each.storage for each in call.writes])
        if not call.outputs:
            return
        made = self._made(call, name)
        for value, dims in zip(call.outputs, made, strict=False):
            if dims is None or not fits(dims, value.shape):
                how = "made" if call.inputs else "given"
                dims = new(value.shape, how, call, value)
            self.axes.dims[value.tensor] = dims
        self._carry(call)
        if name in _PLACED:
            self._used(call, name)

    def get(self, value: Value) -> Dims:
        """Return the dimensions of a tensor as a call reads it."""
        layer = self._inside.get(value.tensor)
        if layer is not None and value.tensor not in self.axes.dims:
            dims = self._result(layer, value)
            if dims is not None:
                self.axes.dims[value.tensor] = dims
        return self.axes.of(value)

    # ---- the dimensions of results ---------------------------------------------------

    def _made(self, call: Call, name: str) -> Iterable[Dims | None]:
        count = len(call.outputs)
        if not call.inputs:
            return [None] * count
        first = call.inputs[0]
        if name in RESHAPES:
            dims = self.get(first)
            if prod(first.shape) != prod(call.outputs[0].shape) or not prod(
                first.shape
            ):
                return [None] * count
            mixes = [] if first.is_parameter else self.axes.mixes
            return [reshaped(dims, call.outputs[0].shape, call, mixes)]
        if name in ("getitem", "select", "unbind", "index_select"):
            return self._picked(call, name)
        if name == "stack":
            return [self._stacked(call)]
        if name == "setitem":
            return [self.get(first)]
        if name in _OWN:
            return [None] * count
        if name in ("softmax", "log_softmax"):
            return [self._normalised(call)]
        if name in RECURRENT:
            return self._sequence(call)
        if name == "multi_head_attention_forward":
            return self._attention(call)
        if name == "scaled_dot_product_attention":
            return [self.get(first)]
        if name in ("pad_sequence", "pack_padded_sequence", "pad_packed_sequence"):
            return self._packing(call, name)
        rule = RULES.get(name)
        found = None if rule is None else rule(call, self.get)
        if rule is not None and found is not None:
            if name == "gather" and len(call.inputs) > 1:
                self._meet(call, name, first, call.inputs[-1])
            if name in REDUCTIONS and (gone := reduced(call)) is not None:
                dims = self.get(first)
                return self._left([dims[each] for each in gone], found)
            return found
        return [self._elementwise(call, name)] * count

    def _elementwise(self, call: Call, name: str) -> Dims | None:
        """Return what meets in a call whose result is as large as its operands."""
        shape = call.outputs[0].shape
        operands = [each for each in call.inputs if not each.is_parameter]
        learnt = [each for each in call.inputs if each.is_parameter]
        if name in _COMPARING and len(operands) > 1:
            self._meet(call, name, operands[0], operands[1])
        out: Dims = tuple([() for _ in shape])
        for each in [*operands[:8], *learnt]:
            dims = self.get(each)
            lead = len(shape) - len(dims)
            if lead < 0 or not _broadcasts(each.shape, shape[lead:]):
                return None
            pairs = list(zip(out[lead:], dims, strict=True))
            if each.is_parameter and operands:  # says only what nothing else does
                rest = [had or dim for had, dim in pairs]
            else:
                rest = [joined(had, dim) for had, dim in pairs]
            out = (*out[:lead], *rest)
        taken_again(call, out)
        return out

    def _normalised(self, call: Call) -> Dims:
        dims = self.get(call.inputs[0])
        place = over(call)
        if not -len(dims) <= place < len(dims):
            return dims
        place %= len(dims)
        summed = _each(dims[place], "normalised", call)
        return (*dims[:place], summed, *dims[place + 1 :])

    def _picked(self, call: Call, name: str) -> list[Dims | None]:
        first, made = call.inputs[0], call.outputs[0]
        dims = self.get(first)
        if name == "unbind":
            return self._unbound(call, dims)
        index: Any = call.arguments[1] if len(call.arguments) > 1 else None
        if name != "getitem":
            place = dimension(call)
            rest = call.arguments[2] if len(call.arguments) > 2 else None
            if name == "select" and type(rest) is not int:
                rest = next(iter(ints(call, 2)), None)
            if name == "index_select":
                rest = call.inputs[-1]
            if place is None or rest is None or not dims:
                return [None]
            index = (*[slice(None)] * (place % len(dims)), rest)
        elif len(call.arguments) < 2:
            return [None]
        found = indexed(dims, index, call, made.shape, self.axes.dims)
        if found is None:
            return [None]
        for dim, number in found.dropped if made.requires_grad else ():
            size = prod([factor.size for factor in dim])
            self.axes.picks.append(Pick(call, dim, number, size))
        if len(found.dropped) == 1:
            self._taken[made.tensor] = found.dropped[0]
        if found.rows is not None:
            dim, beside = found.rows
            self._add(Meeting(call, first, beside, ((dim, self.get(beside)[0]),)))
        self._filling.note_part(call, first, index)
        if len(call.inputs) == 2 and call.inputs[1].shape and self._loaders.ran(call):
            self.axes.samples.update(axes_in(found.dims[0]))
        for axis in [axis for dim in found.dims for axis in axes_in(dim)]:
            mix = None if axis.parent is None else mixed_in(axis.parent)
            if mix is not None and axis.how == "picked":
                mix.is_sliced = True
        return list(self._left([dim for dim, _ in found.dropped], [found.dims]))

    def _unbound(self, call: Call, dims: Dims) -> list[Dims | None]:
        place = dimension(call) or 0
        if not -len(dims) <= place < len(dims):
            return [None] * len(call.outputs)
        place %= len(dims)
        rest = (*dims[:place], *dims[place + 1 :])
        for number, value in enumerate(call.outputs):
            self._taken[value.tensor] = dims[place], number
        return [rest] * len(call.outputs)

    def _left(
        self, gone: list[Dim], results: Iterable[Dims | None]
    ) -> list[Dims | None]:
        """Return results, with what it means for them that axes are gone."""
        calls = {
            axis.call
            for dim in gone
            for each in axes_in(dim)
            for axis in each.behind()
            if axis.how == "beside" and axis.size > 1
        }
        if not calls:
            return list(results)
        return [
            None if dims is None else tuple([_dropped(dim, calls) for dim in dims])
            for dims in results
        ]

    def _stacked(self, call: Call) -> Dims | None:
        """Return the axes of tensors put side by side: what each was picked from."""
        place = dimension(call) or 0
        rank = len(call.outputs[0].shape)
        size = len(call.inputs)
        if not call.inputs or not -rank <= place < rank:
            return None
        items = [self.get(each) for each in call.inputs]
        moved = max(items, key=_moves_in) if size <= _FEW else items[0]
        if any(len(each) != rank - 1 for each in items):
            return None
        taken = [self._taken.get(each.tensor) for each in call.inputs]
        made = _new(call, size)
        known = [each for each in taken if each is not None]
        if len(known) == size > 1 and len(known[0][0]) == 1:
            roots = {id(axes_in(dim)[0].root) for dim, _ in known if axes_in(dim)}
            if len(roots) == 1:
                numbers = tuple([number for _, number in known])
                # What a recurrent state was made of is not what its step picked.
                what = "numbers" if len({*numbers}) == size else "unknown"
                move = Move(what, numbers, call)
                made = (known[0][0][0].moved(move, size),)
        if self._loaders.ran(call):
            self.axes.samples.update(axes_in(made))
        out = list(moved)
        out.insert(place % rank, made)
        return tuple(out)

    def _carry(self, call: Call) -> None:
        """Let what is made of one sample stay that sample."""
        if len(call.outputs) != 1 or call.outputs[0].tensor in self._taken:
            return
        for each in call.inputs[:2]:
            if each.tensor in self._taken:
                self._taken[call.outputs[0].tensor] = self._taken[each.tensor]
                return

    # ---- layers that go along an axis ------------------------------------------------

    def _sequence(self, call: Call) -> list[Dims | None]:
        """Return what a fused recurrent layer gives."""
        data, count = call.inputs[0], len(call.outputs)
        if data.tensor in self._packed and len(data.shape) == 2:
            self._packed[call.outputs[0].tensor] = self._packed[data.tensor]
            return [None] * count
        first = call.arguments[-1] if call.arguments else None
        if len(data.shape) != 3 or not isinstance(first, bool):
            return [None] * count
        dims = self.get(data)
        along, beside = (dims[1], dims[0]) if first else (dims[0], dims[1])
        return self._scan(call, along, beside, first)

    def _scan(
        self, call: Call, along: Dim, beside: Dim, first: bool
    ) -> list[Dims | None]:
        self.axes.scans.append(Scan(call, along, beside, batch_first=first))
        time, batch = _each(along, "scanned", call), _each(beside, "beside", call)
        found: list[Dims | None] = []
        for place, value in enumerate(call.outputs):
            last = _new(call, value.shape[-1])
            if place == 0:
                both = (batch, time) if first else (time, batch)
                found.append((*both, last))
            else:
                found.append((_new(call, value.shape[0]), batch, last))
        return found

    def _attention(self, call: Call) -> list[Dims | None]:
        query = call.inputs[0]
        if len(query.shape) != 3:
            return [None] * len(call.outputs)
        dims = self.get(query)
        self.axes.scans.append(Scan(call, dims[0], dims[1], attends=True))
        last = _new(call, query.shape[2])
        time, batch = _each(dims[0], "scanned", call), _each(dims[1], "beside", call)
        return [(time, batch, last), *[None] * (len(call.outputs) - 1)]

    def _step(self, layer: _Layer, call: Call, name: str) -> None:
        """Learn from the calls inside a sequence layer what it was given."""
        for each in call.inputs:
            known = each.tensor in self.axes.dims or each.tensor in self._packed
            if known and not each.is_parameter and each.tensor not in self._inside:
                best = layer.given
                if best is None or each.shape[:1] > best.shape[:1]:
                    layer.given, layer.call = each, call
                    layer.first = name == "transpose"
        for each in call.outputs:
            self._inside.setdefault(each.tensor, layer)

    def _result(self, layer: _Layer, value: Value) -> Dims | None:
        """Return the axes of what a layer gave whose steps were calls."""
        data, call = layer.given, layer.call
        if data is None or call is None or len(data.shape) != 3:
            return None
        if len(value.shape) != 3:
            return None
        if layer.out is None:
            dims = self.axes.of(data)
            along, beside = (dims[1], dims[0]) if layer.first else (dims[0], dims[1])
            scan = Scan(call, along, beside, batch_first=layer.first)
            self.axes.scans.append(scan)
            time, batch = _each(along, "scanned", call), _each(beside, "beside", call)
            layer.out = (batch, time) if layer.first else (time, batch)
        last = _new(call, value.shape[2])
        if value.shape[:2] == data.shape[:2]:
            return (*layer.out, last)
        beside = layer.out[0 if layer.first else 1]
        return (_new(call, value.shape[0]), beside, last)

    # ---- padding ---------------------------------------------------------------------

    def _packing(self, call: Call, name: str) -> list[Dims | None]:
        made = call.outputs[0]
        first = any(each is True for each in call.arguments[1:3])
        if name == "pad_sequence":
            lengths = [each.shape[0] for each in call.inputs]
            dims = list(new(made.shape, "given", call, made))
            time = 1 if first else 0
            given = call.keywords.get("padding_value", 0.0)
            given = call.arguments[2] if len(call.arguments) > 2 else given
            fill = float(given) if isinstance(given, int | float) else None
            is_right = "left" not in [*call.arguments, *call.keywords.values()]
            if len(set(lengths)) > 1 and dims[time]:
                padding = Padding(call, is_right, fill)
                self.axes.padded[dims[time][0].axes[0]] = padding
            return [tuple(dims)]
        if name == "pack_padded_sequence":
            dims = list(self.get(call.inputs[0])) if call.inputs else []
            if len(dims) > 1:
                time, batch = (dims[1], dims[0]) if first else (dims[0], dims[1])
                self._packed[made.tensor] = time, batch
            return [None] * len(call.outputs)
        return self._unpacked(call, made, first)

    def _unpacked(self, call: Call, made: Value, first: bool) -> list[Dims | None]:
        known = self._packed.get(call.inputs[0].tensor)
        dims = list(new(made.shape, "given", call, made))
        time, batch = (1, 0) if first else (0, 1)
        rows = call.inputs[0].shape[0]
        if rows < made.shape[0] * made.shape[1] and dims[time]:
            self.axes.padded[dims[time][0].axes[0]] = Padding(call, packed=True)
        if known is not None and fits((known[1],), (made.shape[batch],)):
            dims[batch] = known[1]
        return [tuple(dims), *[None] * (len(call.outputs) - 1)]

    # ---- what meets, and where places matter -----------------------------------------

    def _meet(self, call: Call, name: str, one: Value, other: Value) -> None:
        a, b = self.get(one), self.get(other)
        pairs: list[tuple[Dim, Dim]] = []
        if name in CLASS_LOSSES and one.shape != other.shape:
            if len(a) == len(b) + 1 and a:
                lead = (a[0],) if len(a) > 1 else ()
                pairs = list(zip((*lead, *a[2:]), b, strict=False))
            self._touch(a[1:2], call, of_classes=True)
        else:
            rank = min(len(a), len(b))
            if rank:
                pairs = list(zip(a[-rank:], b[-rank:], strict=True))
            self._touch(a, call)
            self._touch(b, call)
        kept = tuple([pair for pair in pairs if pair[0] and pair[1]])
        self._add(Meeting(call, one, other, kept))

    def _add(self, meeting: Meeting) -> None:
        if len(self.axes.meetings) < _MOST_MEETINGS and meeting.pairs:
            self.axes.meetings.append(meeting)

    def _used(self, call: Call, name: str) -> None:
        for each in call.inputs[:2]:
            if not each.is_parameter:
                dims = self.get(each)
                if "softmax" in name:
                    dim = over(call)
                    if -len(dims) <= dim < len(dims):
                        self._touch((dims[dim],), call, of_classes=True)
                else:
                    self._touch(dims, call, exact=name not in _FEATURES)

    def _touch(
        self,
        dims: Iterable[Dim],
        call: Call,
        exact: bool = True,
        of_classes: bool = False,
    ) -> None:
        """Note that a call tells the places of a mixed dimension apart.

        Features may well be those of several places: of a view that cuts between rows,
        layers of features say nothing, but of the last states of a sequence layer. Of
        rows of neighbours, only what takes them for classes says that they are none.
        """
        for axis in [axis for dim in dims for axis in axes_in(dim)]:
            mix = mixed_in(axis)
            if mix is None or (mix.merged and not of_classes):
                continue
            if exact or not mix.exact or _of_states(mix):
                mix.used_by(call)


def _of_states(mix: Mix) -> bool:
    """Tell whether a view takes the samples of a sequence layer's states apart."""
    made = {axis.call for factor in mix.before for axis in factor.axes}
    layers = {each.op for each in made if each is not None}
    return mix.swapped is not None and not RECURRENT.isdisjoint(map(plain, layers))


@dataclass(slots=True, eq=False)
class _Layer:
    """A sequence layer whose steps are calls of their own."""

    event: ModuleCall
    given: Value | None = None
    call: Call | None = None  # that took it
    first: bool = False  # the batch comes first
    out: tuple[Dim, Dim] | None = None


_FEW = 64


def _new(call: Call, size: int) -> Dim:
    return (Factor((Axis(size, "made", call),), size),) if size != 1 else ()


def _each(dim: Dim, how: Any, call: Call) -> Dim:
    return tuple([factor.each(how, call) for factor in dim])


def _dropped(dim: Dim, calls: set[Call | None]) -> Dim:
    if len(dim) != 1:
        return dim
    for axis in dim[0].axes:
        for each in axis.behind():
            if each.how == "scanned" and each.call in calls and each.call is not None:
                return (dim[0].each("dropped", each.call),)
    return dim


def _moves_in(dims: Dims) -> int:
    return sum(len(axis.moves) for dim in dims for axis in axes_in(dim))


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return all(a in (1, b) for a, b in zip(shape, to, strict=True))
