"""Dual numbers: the tangents that tensors carry while a level of forward mode is on.

A :class:`Level` stands in ``mode.now.duals`` while it is on, and whoever computes,
looks at or writes tensors tells it. Levels nest: what a tangent is computed from lives
at the levels *below* its own, so while a level works the one below is on, and
derivatives of derivatives follow without more ado.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._backend import backend_of
from .._dispatch.declare import tensor_ops
from .._graph.node import Node
from .._graph.op import Op
from .._modes.grad_mode import mode
from .._tensor.tensor import Tensor, wrap
from .push import push_forward
from .rules import inputs_of
from .strides import own_memory, part_of, parts_of, same_layout, zeros_laid_out


class Carried:
    """What forward mode knows of one tensor: its tangents, and where they come from.

    ``base`` is the tensor whose tangent this one's is a view of; ``apart`` says that
    there is none although the tensor itself is a view, as duals are of their primals.
    """

    __slots__ = ("__weakref__", "apart", "base", "tangents")

    def __init__(self) -> None:
        self.tangents: dict[Level, Tensor] = {}
        self.base: Tensor | None = None
        self.apart = False


class Level:
    """One level of forward-mode differentiation, from entering it to leaving it."""

    __slots__ = ("below", "members", "number", "outputs")

    def __init__(self, below: Level | None) -> None:
        self.below = below
        self.number: int = 0 if below is None else below.number + 1
        self.members: weakref.WeakSet[Carried] = weakref.WeakSet()
        # Saved outputs are bare memory; their tangents wait here for the formulas.
        self.outputs: weakref.WeakKeyDictionary[Node, dict[int, Tensor]]
        self.outputs = weakref.WeakKeyDictionary()

    def close(self) -> None:
        """Let go of every tangent of this level."""
        for carried in list(self.members):
            carried.tangents.pop(self, None)
        self.members.clear()
        self.outputs.clear()

    # ---- what the rest of the engine reports; self is the innermost level ----

    def ran(
        self,
        op: Op,
        args: Sequence[Any],
        params: tuple[Any, ...],
        outputs: Sequence[Tensor],
        node: Node | None,
    ) -> None:
        """Give the outputs of an op that just ran the tangents they have."""
        if not op.formulas:
            return
        for level in self.carrying(flat(args)):
            with Below(level):
                for number, tangent in level._push(op, args, params, outputs).items():
                    level.attach(outputs[number], tangent)
            if node is not None and any(s.argument is None for s in op.savings):
                level.outputs[node] = {
                    s.output: found
                    for s in op.savings
                    if s.argument is None
                    and (found := level.direct(outputs[s.output])) is not None
                }

    def viewed(
        self,
        op: Op,
        source: Tensor,
        views: Sequence[Tensor],
        options: tuple[Any, ...],
    ) -> None:
        """Give new views of ``source`` the views of its tangents."""
        extra = source._extra
        carried = None if extra is None else extra.carried
        if carried is not None and (carried.apart or carried.base is not None):
            for view in views:
                carried_by(view).base = source if carried.apart else carried.base
        for level in self.carrying([source]):
            tangent = level.tangent_of(source)
            assert tangent is not None
            with Below(level):
                parts = parts_of(op, tangent, source, views, options)
                for view, part in zip(views, parts, strict=True):
                    level.attach(view, part)

    def before_write(self, op: Op, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the arguments of a write as they are now; None where none is dual."""
        if not op.formulas or not self.carrying(flat(args)):
            return None
        target = args[0]
        copy = wrap(backend_of(target._data).xp.copy(target._data))
        if not target.is_leaf:
            copy._grad_fn, copy._nr, copy._needs = target.grad_fn, target._nr, True
        for level in self.carrying([target]):
            tangent = level.tangent_of(target)
            assert tangent is not None
            with Below(level):
                level.attach(copy, tensor_ops.clone(tangent))
        return tuple([copy if arg is target else arg for arg in args])

    def wrote(
        self,
        op: Op,
        args: tuple[Any, ...] | None,
        params: tuple[Any, ...],
        target: Tensor,
    ) -> None:
        """Write the tangents of a write that was just done, in place as it was.

        ``args`` is what :meth:`before_write` returned.
        """
        if args is None:
            return
        for level in self.carrying(flat(args)):
            with Below(level):
                for tangent in level._push(op, args, params, (target,)).values():
                    own = level.tangent_of(target)
                    if own is None:
                        level.attach_written(target, tangent)
                    else:
                        own.copy_(tangent)

    def moved(self, tensor: Tensor, function: Callable[[Tensor], Any]) -> None:
        """Do to the tangents of a tensor what is done to the tensor, in place."""
        for level in self.carrying([tensor]):
            tangent = level.tangent_of(tensor)
            assert tangent is not None
            with Below(level):
                function(tangent)

    def unpacked(self, node: Node, number: int, output: Tensor) -> None:
        """Give a saved output, made anew from memory, the tangents it had."""
        level: Level | None = self
        while level is not None:
            tangent = level.outputs.get(node, {}).get(number)
            if tangent is not None:
                carried_by(output).tangents[level] = tangent
            level = level.below

    def shared(self, tensor: Tensor, alias: Tensor) -> None:
        """Let an alias of a tensor have the very tangents the tensor has."""
        for level in self.carrying([tensor]):
            tangent = level.tangent_of(tensor)
            assert tangent is not None
            level._hold(alias, tangent)

    def any_dual(self, args: Iterable[Any]) -> bool:
        """Tell whether some of these arguments carry a tangent."""
        return bool(self.carrying(flat(args)))

    # ---- tangents of this level ----

    def direct(self, tensor: Tensor) -> Tensor | None:
        """Return the tangent a tensor holds itself."""
        extra = tensor._extra
        if extra is None or extra.carried is None:
            return None
        return extra.carried.tangents.get(self)

    def tangent_of(self, tensor: Tensor) -> Tensor | None:
        """Return the tangent of a tensor, or None.

        A view whose base was given one by a later write finds it there.
        """
        found = self.direct(tensor)
        if found is not None:
            return found
        base = forward_base(tensor)
        whole = None if base is None else self.direct(base)
        if base is None or whole is None:
            return None
        with Below(self):
            found = part_of(whole, base, tensor)
            self._hold(tensor, found)
        return found

    def attach(self, tensor: Tensor, tangent: Tensor) -> None:
        """Make ``tangent`` that of a tensor; a copy where it lies otherwise.

        Raises RuntimeError in PyTorch's words where it does not fit.
        """
        if self.direct(tangent) is not None:
            raise RuntimeError(
                "Setting a forward grad that itself has a forward gradient at the "
                f"same level{self.number} is not supported."
            )
        if tangent._data.shape != tensor._data.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that "
                "of the original Tensor, this is not supported. Tensor is of size "
                f"{list(tensor._data.shape)} while the given forward gradient is of "
                f"size {list(tangent._data.shape)}."
            )
        if (
            not same_layout(tangent, tensor)
            and min(tensor._data.strides, default=0) >= 0
        ):
            laid_out = zeros_laid_out(tangent._data.dtype, tensor)
            tangent = laid_out.copy_(tangent)
        self._hold(tensor, tangent)

    def _hold(self, tensor: Tensor, tangent: Tensor) -> None:
        carried = carried_by(tensor)
        carried.tangents[self] = tangent
        self.members.add(carried)

    def attach_written(self, view: Tensor, tangent: Tensor) -> None:
        """Attach the tangent of a written view: its base has one from here on."""
        base = forward_base(view)
        if base is None or self.direct(base) is not None:
            self.attach(view, tangent)
            return
        if same_layout(tangent, base) and same_layout(tangent, view):
            self._hold(base, tangent)
            self._hold(view, tangent)
            return
        alike = base._data.dtype is view._data.dtype
        dtype = tangent._data.dtype if alike else base._data.dtype
        whole = zeros_laid_out(dtype, base)
        self._hold(base, whole)
        part = part_of(whole, base, view)
        part.copy_(tangent)
        self._hold(view, part)

    def carrying(self, args: Iterable[Any]) -> list[Level]:
        """Return the levels that are on and of which an argument has a tangent.

        Outermost first, as each needs the tangents of the ones before it.
        """
        tensors = [t for t in args if isinstance(t, Tensor) and may_carry(t)]
        found: list[Level] = []
        level: Level | None = self if tensors else None
        while level is not None:
            if any(level.tangent_of(t) is not None for t in tensors):
                found.append(level)
            level = level.below
        return found[::-1]

    def _push(
        self,
        op: Op,
        args: Sequence[Any],
        params: tuple[Any, ...],
        outputs: Sequence[Tensor],
    ) -> dict[int, Tensor]:
        inputs = inputs_of(op, args)
        tangents = [
            self.tangent_of(t) if isinstance(t, Tensor) and may_carry(t) else None
            for t in inputs
        ]
        if not any(t is not None for t in tangents):
            return {}
        found = push_forward(op, args, params, outputs, tangents)
        return {n: own_memory(t, tangents) for n, t in found.items()}


def enter() -> Level:
    """Begin a level inside the ones that are on."""
    level = Level(innermost())
    put(level)
    return level


def leave(level: Level) -> None:
    """End the innermost level: its tangents are gone."""
    put(level.below)
    level.close()


# ---- which levels a thread is in, and what a tensor carries ----


def innermost() -> Level | None:
    """Return the level that was entered last."""
    return mode.now.levels


def is_enabled() -> bool:
    """Tell whether tangents are computed in this thread."""
    return mode.now.forward


def enable(enabled: bool) -> None:
    """Compute tangents in this thread, or hide all of them."""
    now = mode.now
    now.forward = enabled
    now.settle()


def put(level: Level | None) -> None:
    """Make a level the innermost one."""
    now = mode.now
    now.levels = level
    now.settle()


class Below:
    """Work on tangents of a level: only the levels below it are on."""

    __slots__ = ("before", "below")

    def __init__(self, level: Level) -> None:
        self.below = level.below

    def __enter__(self) -> None:
        now = mode.now
        self.before = now.levels
        now.levels = self.below
        now.settle()

    def __exit__(self, *exc: object) -> None:
        now = mode.now
        now.levels = self.before
        now.settle()


def may_carry(tensor: Tensor) -> bool:
    """Tell, cheaply, whether a tensor could have a tangent."""
    extra = tensor._extra
    if extra is not None and extra.carried is not None:
        return True
    view = tensor._view
    return view is not None and view.base is not None and view.base._extra is not None


def forward_base(tensor: Tensor) -> Tensor | None:
    """Return the tensor whose tangents a view's are views of."""
    extra = tensor._extra
    carried = None if extra is None else extra.carried
    if carried is not None and (carried.apart or carried.base is not None):
        return carried.base
    return tensor._base


def set_apart(tensor: Tensor) -> Tensor:
    """Cut a new view off its base's tangents; return it."""
    carried_by(tensor).apart = True
    return tensor


def carried_by(tensor: Tensor) -> Carried:
    extra = tensor.more()
    if extra.carried is None:
        extra.carried = Carried()
    return extra.carried


def flat(args: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for arg in args:
        found.extend(arg if isinstance(arg, list | tuple) else (arg,))
    return found
