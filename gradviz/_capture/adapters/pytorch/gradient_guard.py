"""Watches over a pass whose gradients are not looked at: is one of them NaN or Inf?

A hook on each node computes a norm of what the node hands on. Where the first one is
not finite, the node still has what it saved: it is read, and from there on the pass is
logged as if it had been looked at in full.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from gradviz.program.events import Backward
from gradviz.program.values import NodeRun, Summary

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext
    from gradviz._capture.adapters.pytorch.graph.nodes import TorchGraph

_MOST_NODES = 50_000  # of one pass that are watched


_HARMLESS = (
    # These hand gradients on, add them up or leave some out, ...
    *("AccumulateGrad", "AddBackward", "SubBackward", "NegBackward", "CloneBackward"),
    *("TBackward", "TransposeBackward", "PermuteBackward", "ViewBackward"),
    *("UnsafeViewBackward", "ReshapeAliasBackward", "ExpandBackward", "SumBackward"),
    *("SelectBackward", "SliceBackward", "SplitBackward", "UnsafeSplitBackward"),
    *("UnbindBackward", "SqueezeBackward", "UnsqueezeBackward", "CatBackward"),
    *("StackBackward", "IndexSelectBackward", "ReluBackward", "AliasBackward"),
    # ... and the slopes of these are never steep.
    *("TanhBackward", "SigmoidBackward", "SoftmaxBackward", "LogSoftmaxBackward"),
    *("GeluBackward", "SiluBackward"),
)
"""Classes of nodes that make no NaN and no Inf of finite gradients, as long as what
they saved is finite too. Where that is not, the result of a call was noticed before."""

_PRODUCTS = (
    *("MulBackward", "MmBackward", "AddmmBackward", "BmmBackward", "BaddbmmBackward"),
    *("LinearBackward", "ExpBackward", "MeanBackward", "DotBackward", "MvBackward"),
    *("ConvolutionBackward", "EmbeddingBackward", "AddcmulBackward"),
)
"""Those that make Inf of large gradients alone: their products overflow."""


class OwnHook:
    """Names a hook of ours while it is put on nodes: nobody needs a handle of it."""

    __slots__ = ("hook",)

    def __init__(self) -> None:
        self.hook: Any = None


Leaves: TypeAlias = tuple[tuple[int, int], ...]
"""Number and elements of leaves that had no gradient before a pass."""

_NO_NORMS = array("d")


class LeafGradients:
    """What a pass in brief brought to leaves, told as :class:`Runs`: norms alone."""

    __slots__ = ("bad", "leaves", "norms")

    def __init__(self) -> None:
        self.leaves: Leaves = ()
        self.norms = _NO_NORMS  # of the leaves, 8 bytes each: many passes are kept
        self.bad: dict[int, Summary] = {}  # by number of a leaf: what has NaN or Inf

    def __repr__(self) -> str:
        return f"LeafGradients({self.leaves}, {self.norms})"

    def tell(self, leaves: Leaves, norms: Iterable[float], like: Leaves) -> Leaves:
        """Keep norms of leaves, with those of an earlier pass where they are equal."""
        self.leaves = like if like == leaves else leaves
        self.norms = array("d", norms)
        return self.leaves

    def records(self) -> list[NodeRun]:
        """Return no runs: nobody listened to the nodes."""
        return []

    def at_leaves(self) -> list[tuple[int, Summary]]:
        """Return the leaves' nodes, with as much as is known of their gradients."""
        return [
            (
                -number,
                self.bad.get(number)
                or Summary(count, zeros=0 if norm else count, norm=norm),
            )
            for (number, count), norm in zip(self.leaves, self.norms, strict=True)
        ]


class GradientGuard:
    """The hooks of one pass. After it they hold no node and no tensor."""

    def __init__(
        self,
        torch: Any,
        log: TorchContext,
        graph: TorchGraph,
        index: int,
        told: LeafGradients | None,
    ) -> None:
        self._torch, self._log, self._graph = torch, log, graph
        self._index = index  # of the event
        self._told = told  # what the event learns of leaves
        self._event: Backward | None = None  # once something was noticed
        self._known: NodeRun | None = None  # of a node that was noticed before
        self._roots: list[Any] = []  # while the pass runs
        self._watches = True  # over gradients on their way to leaves
        self._on = True
        # Those that the pass reaches, while it runs, and whether they have a gradient.
        self._leaves: list[tuple[Any, bool]] = []
        self._current = torch._C._current_autograd_node

    def install(self, roots: list[Any], own: OwnHook | None) -> None:
        """Put a hook on every node behind these that may make a NaN.

        Without ``own``, as where all gradients will be NaN, look at leaves alone.
        """
        if self._log.nonfinite.is_observed():
            return
        self._roots, self._watches = roots, own is not None
        hook = self._hook()
        if own is not None:
            own.hook = hook
        nonfinite, words = self._log.nonfinite, self._log.values.words
        near = nonfinite.near_overflow or self._torch.float16 in words
        harmless, found = (_harmless if near else _bounded), set[Any]()
        leaf, leaves = self._torch._C._functions.AccumulateGrad, self._leaves
        waiting = [fn for fn in roots if fn is not None]
        while waiting and len(found) < _MOST_NODES:
            fn = waiting.pop()
            if fn in found:
                continue
            found.add(fn)
            kind = type(fn)
            if kind is leaf:
                variable = fn.variable
                leaves.append((variable, variable.grad is not None))
                continue
            safe = harmless[kind] if kind in harmless else _is_harmless(kind, near)
            if own is not None and not safe:
                fn.register_hook(hook)
            for each, _ in fn.next_functions:
                if each is not None:
                    waiting.append(each)
        if own is not None:
            own.hook = None

    def remove(self) -> None:
        """Be done. The hooks stay on the nodes, which mostly die with the pass."""
        if self._event is None:
            self._tell_leaves()
            self._tell_known()
        else:
            self._note_leaves(self._event)
        self._on, self._event, self._known = False, None, None
        self._leaves, self._roots = [], []

    def _tell_leaves(self) -> None:
        """Tell the norms of what came to leaves that had nothing before."""
        log, told, number_of = self._log, self._told, self._log.tensors.of
        gradients = [leaf.grad for leaf, _ in self._leaves]
        norms = log.nonfinite.of_leaves(gradients, notices=self._watches)
        if told is None:
            return
        found = [
            (leaf, norm)
            for (leaf, had), norm in zip(self._leaves, norms, strict=True)
            if norm is not None and not had
        ]
        leaves = tuple([(number_of(leaf), leaf.numel()) for leaf, _ in found])
        log.leaves_told = told.tell(leaves, [n for _, n in found], log.leaves_told)
        for leaf, norm in found:
            if not math.isfinite(norm):
                summary = log.values.summary(leaf.grad)
                if summary is not None:
                    told.bad[number_of(leaf)] = summary

    def _tell_known(self) -> None:
        """Tell which node it was where what had done no harm before came to a leaf."""
        event = self._log.program.event(self._index)
        known = self._known if self._told is not None and self._told.bad else None
        if known is not None and isinstance(event, Backward):
            self._graph.outline(self._roots)
            event.unusual, event.ran = True, [known]
            self._note_leaves(event)

    def _note_leaves(self, event: Backward) -> None:
        """Note what came to leaves of a pass in which something was noticed."""
        for leaf, had in self._leaves if isinstance(event.ran, list) else ():
            summary = None if had else self._log.values.summary(leaf.grad)
            if summary is not None:
                key = -self._log.tensors.of(leaf)
                event.runs.append(NodeRun(key, (summary,), ()))

    def _hook(self) -> Any:
        norm, finite, look = self._log.nonfinite.norm, math.isfinite, self._look
        unasked = self._torch._C.DisableTorchFunction

        def all_finite(gradients: tuple[Any, ...]) -> bool:
            for each in gradients:
                if each is not None and not finite(norm(each)):
                    return False
            return True

        def after(outgoing: tuple[Any, ...], incoming: tuple[Any, ...]) -> None:
            if not self._on:
                return
            try:  # what fails here would fail the user's pass
                with unasked():
                    if self._event is not None or (
                        not all_finite(outgoing) and all_finite(incoming)
                    ):
                        look(outgoing, incoming)
            except Exception as error:
                self._log.stop(error)

        return after

    def _look(self, outgoing: tuple[Any, ...], incoming: tuple[Any, ...]) -> None:
        if self._event is None:
            self._notice(outgoing, incoming)
        if self._event is not None and isinstance(self._event.ran, list):
            run = self._run(outgoing, incoming)
            self._event.ran += [] if run is None else [run]

    def _notice(self, outgoing: tuple[Any, ...], incoming: tuple[Any, ...]) -> None:
        """Read this node and all behind it, unless it did the same before."""
        fn, log = self._current(), self._log
        maker = log.program.event(self._graph.producers.get(fn._sequence_nr() + 1))
        site = None if maker is None else maker.site
        if not log.nonfinite.is_news((fn.name(), site)):
            self._known = self._known or self._run(outgoing, incoming)
            return
        log.notice()
        event = log.program.event(self._index)
        if isinstance(event, Backward):
            self._graph.walk([fn])
            self._graph.outline(self._roots)
            event.whole = event.unusual = True
            event.ran = list[NodeRun]()  # from here on all that runs
            self._event = event

    def _run(
        self, outgoing: tuple[Any, ...], incoming: tuple[Any, ...]
    ) -> NodeRun | None:
        """Return what the node that runs was given and gave."""
        summary = self._log.values.summary
        ins = tuple([each if each is None else summary(each) for each in incoming])
        outs = tuple([each if each is None else summary(each) for each in outgoing])
        key = self._log.node_key(self._current())
        return None if key is None else NodeRun(key, ins, outs)


_harmless: dict[type, bool] = {}
_bounded: dict[type, bool] = {}  # the same where no product overflows


def _is_harmless(kind: type, near_overflow: bool) -> bool:
    name = kind.__name__
    _harmless[kind] = found = name.startswith(_HARMLESS)
    _bounded[kind] = bounded = found or name.startswith(_PRODUCTS)
    return found if near_overflow else bounded
