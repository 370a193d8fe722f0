"""What PyTorch's vmap refuses and a run per example would take: the examples watched.

PyTorch computes all examples at once, so no example has numbers of its own that Python
could ask for, and a tensor that is there once cannot take in what differs. Every
example runs the same code: watching the first two tells, and the rest runs unwatched.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Generator, Iterable
from typing import Any

from .._common.site import internal_files
from .._dispatch.declare import OPS
from .._graph.observe import Event, OpCalled, observe
from .._modes.grad_mode import mode
from .._modes.transforms import active
from .._random.vmap import vmaps
from .._tensor.tensor import Tensor
from ..overrides._guard import Entry

WATCHED = 2
"""The second example shows which of the tensors written to are not its own."""

_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap "
    "over calling .item() on a Tensor, please try to rewrite what you're doing with "
    "other operations. If error is occurring somewhere inside PyTorch internals, "
    "please file a bug report."
)
_CONTROL = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent "
    "control flow. We don't support that yet, please file an issue at "
    "https://github.com/pytorch/pytorch/issues ."
)
_EITHER = (
    "vmap: It looks like you're either (1) calling .item() on a Tensor or (2) "
    "attempting to use a Tensor in some data-dependent control flow or (3) "
    "encountering this error in PyTorch internals. For (1): we don't support vmap over "
    "calling .item() on a Tensor, please try to rewrite what you're doing with other "
    "operations. For (2): we don't support data-dependent control flow in vmap yet, "
    "please file an issue at https://github.com/pytorch/pytorch/issues . For (3): "
    "please file an issue."
)
_MEMORY = "Cannot access data pointer of Tensor that doesn't have storage"
_GUARD = Entry.__call__.__code__.co_filename
"""Whose frames stand around a method, once classes or modes may answer for it."""

_RULE = "Batching rule not implemented for aten::{}. We could not generate a fallback."
_SHAPE = (
    "vmap: We do not support batching operators that can output dynamic shape. "
    "Attempted to vmap over aten::{}. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature."
)
_SELECT = (
    "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot "
    "support this because for each batch this would return a differently shaped "
    "Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you "
    "need this feature."
)
_CLOSE = (
    "vmap over torch.allclose isn't supported yet. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature."
)

_REASONS = {
    "bool": _CONTROL,
    "item": _ITEM,
    "memory": _MEMORY,
    "allclose": _CLOSE,
    "data =": "mutating directly with `.data` under vmap transform is not allowed.",
    "data": "accessing `data` under vmap transform is not allowed",
    **{name: _RULE.format(name) for name in ("equal", "nonzero_numpy")},
    **{
        name: _SHAPE.format(name)
        for name in ("nonzero", "where", "_unique2", "unique_dim", "unique_consecutive")
    },
}

_WRITE = (
    "vmap: {name}(self, *extra_args) is not possible because there exists a Tensor "
    "`other` in extra_args that has more elements than `self`. This happened due to "
    "`other` being vmapped over but `self` not being vmapped over {where}. Please try "
    "to use out-of-place operators instead of {name}. If said operator is being called "
    "inside the PyTorch framework, please file a bug report instead."
)
_FILL = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This "
    "will appear like same randomness. If this is necessary for your usage, please "
    "file an issue with functorch."
)
_DRAW = (
    "Vmap does not currently support same randomness with a batched tensor input. "
    "Please file an issue with functorch"
)
_NO_FALLBACK = (
    "Batching rule not implemented for aten::{}; the fallback path doesn't work on "
    "out= or view ops."
)
_MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. "
    "Attempting to batch over indexing with a boolean mask."
)

_ARITHMETIC = {
    *("clamp_max_", "clamp_min_", "copy_", "div_", "logical_and_", "logical_or_"),
    *("logical_xor_", "masked_fill_", "mul_", "sub_"),
}
_OWN_RULE = {
    *("fill_", "index_add_", "index_fill_", "index_put_", "scatter_add_"),
    *("scatter_reduce_", "inplace bernoulli"),
}
_NO_RULE = {
    *("add_", "atan2_", "bitwise_and_", "bitwise_left_shift_", "bitwise_or_"),
    *("bitwise_right_shift_", "bitwise_xor_", "copysign_", "gcd_", "lcm_"),
}
"""Writes whose operands PyTorch just broadcasts, the mapped dimension first."""


_LIKE = {"clone", "_to_copy", "empty_like"}
"""Ops whose results lie as their operand, besides the pointwise ones."""


class _Tensors:
    """Tensors by identity, held weakly."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[Tensor]] = {}

    def add(self, tensor: Tensor) -> None:
        self._known[id(tensor)] = weakref.ref(tensor)

    def __contains__(self, tensor: Tensor) -> bool:
        reference = self._known.get(id(tensor))
        return reference is not None and reference() is tensor

    def take(self, others: _Tensors) -> None:
        """Add all the tensors of another set."""
        self._known |= others._known


def _tensors_in(values: Iterable[Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _tensors_in(value)
    return found


class Watch:
    """Which tensors differ by example, as far as calls of ops tell."""

    def __init__(self, size: int, different: bool) -> None:
        self.size = size
        self.depth = active.depth  # of the innermost vmap among the transforms
        self.different = different  # every example draws its own numbers
        self.mapped = _Tensors()
        self.single = _Tensors()  # there once, or the same in each example
        self.written = _Tensors()  # perhaps so, if met in two examples

    def begin(self, example: Iterable[Any]) -> None:
        """Take in the parts of the inputs that are one example."""
        self.single.take(self.written)
        for each in example:
            self.mapped.add(each)

    def see(self, event: Event) -> None:
        """Learn from a call what its results depend on."""
        if mode.now.watch is not self or type(event) is not OpCalled:
            return
        given = _tensors_in(event.inputs)
        if any(t in self.mapped for t in given):
            for output in event.outputs:
                if all(output is not t for t in given):  # a write changes nothing
                    self.mapped.add(output)
                    self._lay_out(event.name, given, output)

    def _lay_out(self, name: str, given: list[Tensor], output: Tensor) -> None:
        """Tell draws how the results of pointwise ops lie for all examples."""
        pointwise = name in OPS and OPS[name].lies_like_operands
        if len(vmaps.batches) == 1 and (pointwise or name in _LIKE):
            vmaps.batches[0].follow(given, self.mapped, output)

    def empty_like(self, source: Tensor, result: Tensor) -> None:
        """Note how a tensor without values lies."""
        self._lay_out("empty_like", [source], result)

    def follow(self, source: Tensor, result: Tensor) -> None:
        """Note that a tensor which no op made is as mapped as another one."""
        if source in self.mapped:
            self.mapped.add(result)

    def same_for_all(self, tensor: Tensor) -> None:
        """Note that a tensor was made of nothing that is mapped."""
        self.single.add(tensor)

    def indexed(self, places: Iterable[Tensor | None], result: Tensor) -> None:
        """Refuse masks that are mapped, and note what mapped indices select."""
        for each in places:
            if each is not None and each in self.mapped:
                if each._data.dtype.kind == "b":
                    raise RuntimeError(_MASK)
                self.mapped.add(result)

    def check_read(self, tensor: Tensor, how: str) -> None:
        """Refuse Python what depends on mapped numbers; the engine may ask."""
        if tensor not in self.mapped:
            return
        frame = sys._getframe(1)
        methods = (frame.f_code.co_filename, _GUARD)
        while frame.f_back is not None and frame.f_code.co_filename in methods:
            frame = frame.f_back
        mapped_itself = frame.f_globals["__name__"] == f"{__package__}._vmap"
        if internal_files[frame.f_code.co_filename] and not mapped_itself:
            return
        numbers = how in ("bool", "item")
        if numbers and active.depth > self.depth:  # asked in a derivative
            raise RuntimeError(_EITHER)
        raise RuntimeError(_REASONS[how])

    def check_selection(self, mask: Tensor) -> None:
        """Refuse to select with a mask that is mapped."""
        if mask in self.mapped:
            raise RuntimeError(_SELECT)

    def check_write(self, name: str, args: Iterable[Any]) -> None:
        """Refuse to write what is mapped into a tensor that is there once."""
        target, *others = _tensors_in(args)
        mapped = [t for t in others if t in self.mapped]
        if target in self.mapped or not mapped:
            return
        if not self._is_single(target):
            return
        if name in _NO_RULE:
            raise RuntimeError(self._broadcast(target, mapped[0]))
        label, where = "inplace arithmetic", "in a vmap"
        if name not in _ARITHMETIC:
            own = name in _OWN_RULE
            label = name if own else f"aten::{name}"
            where = where if own else f"at level {active.depth}"
        raise RuntimeError(_WRITE.format(name=label, where=where))

    def check_fallback(self, name: str, tensors: Iterable[Tensor]) -> None:
        """Refuse what PyTorch cannot even do example by example, if one is mapped."""
        if any(t in self.mapped for t in tensors):
            raise RuntimeError(_NO_FALLBACK.format(name))

    def check_dual(self, tensors: Iterable[Tensor]) -> None:
        """Refuse to make duals, but to a transform within the vmap."""
        if active.depth == self.depth:
            self.check_fallback("_make_dual", tensors)

    def check_draw(self, parameters: Iterable[Any]) -> None:
        """Refuse to draw for all examples at once with what each has of its own."""
        if vmaps.starts and any(t in self.mapped for t in _tensors_in(parameters)):
            raise RuntimeError(_DRAW)

    def check_fill(self, target: Tensor) -> None:
        """Refuse to draw for each example into a tensor that is there once."""
        if self.different and target not in self.mapped and self._is_single(target):
            raise RuntimeError(_FILL)

    def _is_single(self, target: Tensor) -> bool:
        """Tell whether a tensor is surely not one per example; note it if it may be."""
        base: Tensor = target if target._base is None else target._base
        self.written.add(base)
        return base in self.single or target in self.single

    def _broadcast(self, target: Tensor, other: Tensor) -> str:
        missing = (1,) * (target.dim() - other.dim())
        wanted = [self.size, *missing, *other.shape]
        for place, length in enumerate(reversed(target.shape), 1):
            wanted[-place] = max(wanted[-place], length)
        return (
            f"output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{wanted}"
        )


@contextlib.contextmanager
def watching(size: int, different: bool) -> Generator[Callable[[int, list[Any]], None]]:
    """Watch the first examples; yields what to call before each, with what is mapped.

    Inside of an example that is watched, all examples of another vmap are.
    """
    now = mode.now
    outer: Any = now.watch
    if outer is not None:
        before, outer.depth = outer.depth, active.depth
        try:
            yield lambda index, example: outer.begin(example)
        finally:
            outer.depth = before
        return
    watch = now.watch = Watch(size, different)
    with contextlib.ExitStack() as stack:
        stack.callback(setattr, now, "watch", None)
        stack.enter_context(observe(watch.see))

        def begin(index: int, example: list[Any]) -> None:
            if index < WATCHED:
                watch.begin(example)
            elif mode.now is not now:  # on a thread of its own, while others wait
                mode.now.watch = None
            elif index == WATCHED:
                stack.close()

        yield begin


__all__ = ["watching"]
