"""Ask what would reach which parameter, and change nothing: see :func:`what_if`."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from gradviz._capture.names.user_code import probing
from gradviz.stepping.change import scaled
from gradviz.stepping.graph import leaf_of
from gradviz.supposing import bypass
from gradviz.supposing.arrival import Arrival, arrival, lines_of
from gradviz.supposing.side_pass import NO_PATH, SidePass
from gradviz.supposing.terms import places_of_term
from gradviz.supposing.walk import Alter, Bridge, Place, Plan
from gradviz.text.words import counted

_NO_TERM = (
    "that tensor is no term of this loss: the loss is no weighted sum that it stands in"
)


class WhatIf:
    """A backward pass with some changes, which runs in a side buffer when asked for.

    Each method returns another one with one change more. A place is a tensor, for the
    gradient that arrives at it, or ``(node, number)``, for what a node sends back along
    its input of that number, counted as in ``next_functions``.

    What the program itself runs inside of a backward runs for each question: its own
    Functions, and a forward that checkpoint repeats. Its hooks do not run, so both
    columns are without them, and ``hooks`` names those that were found.
    """

    def __init__(
        self, base: SidePass, plan: Plan, changes: tuple[str, ...] = ()
    ) -> None:
        self._base = base
        self._plan = plan
        self.changes = changes
        """Each change in words."""

    # ---- changes --------------------------------------------------------------------

    def scale(self, at: Any, factor: float) -> WhatIf:
        """Scale the gradient at a place by a finite number."""
        if not math.isfinite(factor):
            raise ValueError(f"a gradient cannot be scaled by {factor}")
        words = f"{self._base.words(at)} scaled by {factor:g}"
        return self._altered(at, lambda g: g if g is None else scaled(g, factor), words)

    def replace(self, at: Any, value: Any) -> WhatIf:
        """Put a tensor of the same shape, or one number for all, in its place."""
        shape, dtype, device = self._base.layout(at)
        library = self._base.library
        if isinstance(value, library.Tensor):
            if tuple(value.shape) != shape:
                raise ValueError(
                    f"the gradient there has shape {shape}, not {tuple(value.shape)}"
                )
            given = value.detach().to(dtype=dtype, device=device)
        else:
            given = library.full(shape, float(value), dtype=dtype, device=device)
        words = f"{self._base.words(at)} replaced"
        return self._altered(at, lambda gradient: given.clone(), words)

    def cut(self, at: Any) -> WhatIf:
        """Let no gradient through, as ``detach()`` would."""
        return self._altered(at, lambda gradient: None, f"{self._base.words(at)} cut")

    def without(self, term: Any) -> WhatIf:
        """Leave a term out of the loss: a tensor, or the output of a node.

        Raises ValueError for what is no term, which the loss takes in some other way.
        """
        place = self._base.place(term)
        changed = self
        for at in places_of_term(self._base.root, place):
            changed = changed._altered(at, lambda gradient: None, "")
        if changed is self:
            raise ValueError(_NO_TERM)
        return WhatIf(
            self._base,
            changed._plan,
            (*self.changes, f"without {self._base.name(term)}"),
        )

    def uncut(self, gate: Any, source: Any = None) -> WhatIf:
        """Let the gradient go on, unchanged, where the value went on and it did not.

        With one tensor, the result of a call whose own derivative stops gradients, such
        as ``round()``: what arrives at it goes on to the call's input of that shape.
        With two, a value without the graph of what it was made of, by ``detach()`` or
        under ``no_grad``: ``uncut(z, h)`` after ``z = h.detach()``. Raises CaptureError
        where it is not known what took the value.
        """
        base = self._base
        if source is None:
            node = base.place(gate)[0]
            if leaf_of(node) is not None:
                raise ValueError("say what it was made of: uncut(z, h)")
            passing = {**self._plan.passing, node: bypass.input_like_output(node)}
            plan = replace(self._plan, passing=passing)
        else:
            plan = self._bridged(dict(base.bridges(gate, source)))
        return WhatIf(base, plan, (*self.changes, f"{base.name(gate)} uncut"))

    def joined(self, user: Place, into: Place, words: str) -> WhatIf:
        """Let what ``user``, an input of a node, took without a graph have one."""
        base = self._base
        with probing():
            bridge = bypass.from_input(base.library, base.root[0], user, into)
        plan = self._bridged({user[0]: bridge})
        return WhatIf(base, plan, (*self.changes, words))

    def _bridged(self, added: Mapping[Any, Bridge]) -> Plan:
        bridges = dict(self._plan.bridges)
        for node, bridge in added.items():
            bridges[node] = (*bridges.get(node, ()), bridge)
        return replace(self._plan, bridges=bridges)

    def _altered(self, at: Any, alter: Alter, words: str) -> WhatIf:
        sends = isinstance(at, tuple)
        place = self._base.place(at)
        before = self._plan.sending if sends else self._plan.arriving
        after = {**before, place: (*before.get(place, ()), alter)}
        plan = (
            replace(self._plan, sending=after)
            if sends
            else replace(self._plan, arriving=after)
        )
        return WhatIf(self._base, plan, (*self.changes, words))

    # ---- answers --------------------------------------------------------------------

    @property
    def hooks(self) -> tuple[str, ...]:
        """The hooks of the program on tensors of this graph, which did not run."""
        return self._base.hooks

    @cached_property
    def _would(self) -> dict[Any, Any]:
        return self._base.run(self._plan) if self.changes else self._base.did

    @cached_property
    def arrivals(self) -> tuple[Arrival, ...]:
        """What reaches each leaf, as it is and with the changes, in the order of names.

        Raises CaptureError where the graph was freed.
        """
        did, would = self._base.did, self._would
        return tuple(
            arrival(self._base.leaf(node), did.get(node), would.get(node))
            for node in self.leaves
        )

    @cached_property
    def leaves(self) -> list[Any]:
        """The AccumulateGrad of each of these leaves."""
        return self._base.sorted({**self._would, **self._base.did})

    def gradient(self, leaf: Any) -> Any:
        """Return what would reach a leaf, a tensor of its shape; None if nothing."""
        found = [g for node, g in self._would.items() if leaf_of(node) is leaf]
        if not found:
            raise ValueError(NO_PATH)
        return found[0]

    def __repr__(self) -> str:
        lines = [
            "What if: " + ("; ".join(self.changes) or "nothing is changed"),
            *lines_of(self.arrivals),
        ]
        if self.hooks:
            names = ", ".join(self.hooks)
            lines.append(f"Without {counted(len(self.hooks), 'hook')}: {names}.")
        return "\n".join(lines)


def what_if(loss: Any, gradient: Any = None) -> WhatIf:
    """Ask what would reach which parameter if a backward pass were another one.

    Works on the graph behind a tensor of gradtape or PyTorch, before ``backward()`` or
    after ``backward(retain_graph=True)``. No ``.grad``, version, buffer or generator
    changes. Raises CaptureError where there is no graph, or where it was freed.

    >>> import torch, gradviz
    >>> w = torch.tensor([3.0], requires_grad=True)
    >>> fit, penalty = (w * 2).sum(), (w * w).sum()
    >>> gradviz.what_if(fit + penalty).without(penalty).arrivals[0]
    Arrival(name='w', did=8.0, would=2.0, cosine=1.0)
    """
    return WhatIf(SidePass(loss, gradient, sys._getframe(1)), Plan())
