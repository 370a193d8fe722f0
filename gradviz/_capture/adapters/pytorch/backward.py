"""Logs PyTorch's backward passes: what each was about to walk, and what ran."""

from __future__ import annotations

import functools
import time
import weakref
from collections.abc import Callable
from math import isfinite
from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal, cast

from gradviz._capture.adapters.pytorch.backward_args import BackwardArguments, listed
from gradviz._capture.adapters.pytorch.gradient_guard import (
    GradientGuard,
    LeafGradients,
    OwnHook,
)
from gradviz._capture.adapters.pytorch.isolation import unheard
from gradviz._capture.adapters.pytorch.pass_cache import WalkedNodes
from gradviz._capture.adapters.pytorch.pass_preview import MOST_NODES, PreviewedPass
from gradviz._capture.adapters.pytorch.tensor_records import version_of
from gradviz._capture.names.tensors import grad_fn_of
from gradviz._capture.training_loop.patches import Patches, unseen
from gradviz.program.events import Backward
from gradviz.program.noted import with_numbers
from gradviz.program.values import NodeRun, RawSite, Summary, Value

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext
    from gradviz._capture.adapters.pytorch.graph.nodes import TorchGraph

MOST_HOOKED = 50_000  # nodes of one pass whose gradients are summarized


class TorchBackward:
    """Wraps the two ways into a backward pass, and the engine below them."""

    def __init__(
        self, torch: Any, log: TorchContext, graph: TorchGraph, own: OwnHook
    ) -> None:
        self.torch, self.own = torch, own
        self.log, self.graph = log, graph
        self.last: Backward | None = None  # the pass that ended last, where it was read
        self.begun = self.over = 0  # passes that have begun; that have ended
        self._peek = torch._C._autograd._get_sequence_nr
        self._patches = Patches()

    def install(self) -> None:
        """Put the wrappers in place."""
        autograd = self.torch.autograd
        for api in ("backward", "grad"):
            self._patches.set(autograd, api, self._wrap(api, getattr(autograd, api)))
        engine = "_engine_run_backward"
        run = self._wrap_engine(getattr(autograd, engine))
        self._patches.set(autograd, engine, run)

    def remove(self) -> None:
        """Put the functions of PyTorch back."""
        self._patches.restore()

    def _wrap(self, api: Literal["backward", "grad"], original: Any) -> Any:
        log, tensor = self.log, self.torch.Tensor

        @unseen
        @functools.wraps(original)
        def run(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            # muted: we compute something ourselves, or this is our own second turn
            if log.muted or not log.is_home():
                return original(*args, **kwargs)
            args, kwargs = listed(tensor, args, kwargs)
            log.pause()
            try:
                entry = log.try_(self._begin, api, args, kwargs)
                if entry is None:
                    return original(*args, **kwargs)
                try:
                    result = original(*args, **kwargs)
                except BaseException as error:
                    entry.unhook()
                    log.try_(self._failed, entry, error)
                    raise
                if entry.handles:
                    entry.unhook()
                log.try_(self._end, entry, result)
                return result
            finally:
                log.resume()

        return run

    def _wrap_engine(self, original: Any) -> Any:
        log = self.log

        @unseen
        @functools.wraps(original)
        def run(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if log.muted != 1 or not log.is_home():
                return original(*args, **kwargs)
            # Hooks and the user's own Functions are part of the run.
            before = log.interrupt_pause()
            try:
                return original(*args, **kwargs)
            finally:
                log.continue_pause(before)

        return run

    # ---- before ---------------------------------------------------------------------

    def preflight(self, root: Any) -> Backward:
        """Log a pass from this tensor that is not to run."""
        arguments = BackwardArguments("backward", [root], [], [], False, False)
        event = self._event(arguments, *self.log.place_of_pass(), 0)
        self.graph.walk([_gradient_node(self.torch, root)], event)
        return event

    def _begin(
        self, api: Literal["backward", "grad"], args: Any, kwargs: dict[str, Any]
    ) -> _Pass:
        arguments = BackwardArguments.of(self.torch.Tensor, api, args, kwargs)
        log, self.begun = self.log, self.begun + 1
        site, stack = log.place_of_pass()
        roots = arguments.roots
        number_of = log.program.number_of
        if number_of is not None:
            log.program.loss = number_of(roots[0]) if len(roots) == 1 else None
        nodes = [_gradient_node(self.torch, root) for root in roots]
        ahead = self.graph.preview_pass(nodes, site)
        if ahead is not None:
            log.detail.reaches(site, len(ahead[1]))
            losses = self._losses(arguments, site)
            entry = self._note(arguments, ahead, site, stack, losses)
            self._guard(entry, nodes, losses)
            return entry
        log.meets_new()
        losses = self._losses(arguments, site)
        event = self._event(arguments, site, stack, self.begun)
        event.roots = with_numbers(event.roots, losses)
        entry = _Pass(arguments, self._peek(), event.index, event)
        reached = self.graph.inspect_pass(nodes, event)
        log.detail.reaches(site, len(event.leaves))
        log.loop.before_backward(event.nodes)
        if (log.scan or log.detailed) and len(reached) <= MOST_HOOKED:
            self._hook(entry, reached)
        else:
            entry.told = event.ran = LeafGradients()
            log.came(event.index)
            self._guard(entry, nodes, losses)
        return entry

    def _losses(
        self, arguments: BackwardArguments, site: RawSite | None
    ) -> tuple[float | None, ...]:
        """Note the numbers that roots hold, where values are looked at now and then.

        In a step that is told in brief a pass has no other value of its loss.
        """
        log = self.log
        if log.scan or not (log.samples and log.program.scanned):
            return ()
        losses = tuple(map(log.nonfinite.number_of, arguments.roots))
        for loss in losses:
            log.detail.falls(site, loss)
        return losses

    def _guard(
        self, entry: _Pass, nodes: list[Any], losses: tuple[float | None, ...]
    ) -> None:
        """Watch over the gradients of a pass, where they are looked at now and then.

        Those of a loss that is not finite are not either: it was noticed before, and
        only what comes to leaves is told.
        """
        log, norm = self.log, self.log.nonfinite.norm
        if not (log.samples and log.program.scanned):
            return
        roots = entry.arguments.roots
        known = zip(losses or [None] * len(roots), roots, strict=True)
        good = all(isfinite(norm(x) if loss is None else loss) for loss, x in known)
        guard = GradientGuard(self.torch, log, self.graph, entry.index, entry.told)
        guard.install(nodes, self.own if good else None)
        entry.guard = guard

    def _note(
        self,
        arguments: BackwardArguments,
        ahead: PreviewedPass,
        site: RawSite | None,
        stack: Any,
        losses: tuple[float | None, ...],
    ) -> _Pass:
        """Log a pass whose graph holds nothing new."""
        log, (walked, leaves) = self.log, ahead
        count = walked.count + len(leaves)
        index = log.note(
            "backward",
            site,
            stack,
            get_ident(),
            arguments.api,
            *arguments.ends(self.torch.Tensor, log.glance),
            arguments.retain,
            arguments.create,
            walked if count <= MOST_NODES else None,
            leaves,
            count,
            (),
            (),
            told := LeafGradients(),
            self.begun,
            losses,
        )
        log.came(index)
        log.loop.before_backward(walked.keys())
        return _Pass(arguments, self._peek(), index, None, walked, told)

    def _event(
        self,
        arguments: BackwardArguments,
        site: RawSite | None,
        stack: Any,
        number: int,
    ) -> Backward:
        value = self.log.program.value
        roots, inputs, gradients = [
            tuple([None if each is None else value(each) for each in several])
            for several in arguments.ends(self.torch.Tensor, self.log.glance)
        ]
        event = Backward(
            index=-1,
            site=site,
            stack=stack,
            thread=get_ident(),
            api=arguments.api,
            roots=cast(tuple[Value, ...], roots),
            inputs=cast(tuple[Value, ...], inputs),
            gradients=gradients,
            retain_graph=arguments.retain,
            create_graph=arguments.create,
            number=number,
            whole=self.log.whole,
            unusual=self.log.unusual,
        )
        self.log.append(event)
        return event

    def _hook(self, entry: _Pass, reached: dict[int, Any]) -> None:
        """Ask every node for its gradients. No closure holds a node: it would leak."""
        log, summary = self.log, _each_once(self.log)
        runs = entry.event.runs if entry.event is not None else []
        leaves: dict[int, weakref.ref[Any]] = {}
        holding: set[int] = set()  # leaves with something in .grad already

        def before(key: int, incoming: Any) -> None:
            entry.running = key
            leaf = leaves[key]() if key in leaves else None
            if leaf is not None and leaf.grad is not None:
                holding.add(key)
            entry.began_ns = time.perf_counter_ns()

        def after(key: int, outgoing: Any, incoming: Any) -> None:
            entry.running = None
            elapsed_ns = time.perf_counter_ns() - entry.began_ns
            log.try_(note, key, outgoing, incoming, elapsed_ns)

        def note(key: int, outgoing: Any, incoming: Any, elapsed_ns: int) -> None:
            ins = tuple([summary(each) for each in incoming])
            outs = tuple([summary(each) for each in outgoing])
            leaf = leaves[key]() if key in holding else None
            grad = None if leaf is None else summary(leaf.grad)
            runs.append(NodeRun(key, ins, outs, elapsed_ns, grad))

        for key, fn in reached.items():
            if key < 0:  # of a leaf
                leaves[key] = weakref.ref(fn.variable)
            entry.handles.append(fn.register_prehook(functools.partial(before, key)))
            entry.handles.append(fn.register_hook(functools.partial(after, key)))

    # ---- after ----------------------------------------------------------------------

    def _failed(self, entry: _Pass, error: BaseException) -> None:
        event = self._event_of(entry)
        if event is not None:
            event.error = f"{type(error).__name__}: {error}"
            event.error_node = entry.running
            self.graph.inspect_failed(
                [grad_fn_of(root) for root in entry.arguments.roots], event
            )
        self._over(entry)

    def _end(self, entry: _Pass, result: Any) -> None:
        log, arguments = self.log, entry.arguments
        if arguments.api == "grad" and isinstance(result, tuple):
            event = self._event_of(entry)
            if event is not None:
                event.results = tuple(
                    None if each is None else log.values.result(each) for each in result
                )
        if entry.event is not None:
            self.graph.passed(entry.event)
            if log.samples and log.scan:
                self._learn_sizes(entry.event)
        elif entry.walked is not None and not (arguments.retain or arguments.inputs):
            self.graph.spent(entry.walked)
        self._over(entry)

    def _learn_sizes(self, event: Backward) -> None:
        """Tell what watches gradients in brief how large they were in full."""
        came = [found for _, found in event.at_leaves()]
        if not any(found.bad for found in came):
            norms = [found.norm for found in came if found.norm is not None]
            if norms:
                self.log.nonfinite.sizes_of_leaves(norms)

    def _over(self, entry: _Pass) -> None:
        log = self.log
        if entry.guard is not None:
            entry.guard.remove()
        if entry.arguments.create:
            self.graph.made_in(entry.index, entry.first, self._peek())
        log.loop.after_backward()
        self.last, self.over = entry.event or self.last, self.over + 1
        log.size.passed(self._peek())
        log.step_ended()
        if log.program.after_pass is not None:
            log.program.after_pass()

    def _event_of(self, entry: _Pass) -> Backward | None:
        """Return the event of a pass; None where it was dropped meanwhile."""
        found = entry.event or self.log.program.event(entry.index)
        return found if isinstance(found, Backward) else None


class _Pass:
    """One pass while it runs."""

    __slots__ = (
        *("began_ns", "arguments", "event", "first", "guard", "handles", "index"),
        *("running", "told", "walked"),
    )

    def __init__(
        self,
        arguments: BackwardArguments,
        first: int,
        index: int,
        event: Backward | None,
        walked: WalkedNodes | None = None,
        told: LeafGradients | None = None,
    ) -> None:
        self.arguments = arguments
        self.first = first  # the number of the node that comes next
        self.index = index  # of its event
        self.event = event  # None where it is only noted
        self.walked = walked  # its nodes, where it is only noted
        self.told = told  # what came to leaves, likewise
        self.handles: list[Any] = []
        self.guard: GradientGuard | None = None  # where gradients are not looked at
        self.running: int | None = None
        self.began_ns = 0

    def unhook(self) -> None:
        """Take our hooks off the nodes."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


def _each_once(log: TorchContext) -> Callable[[Any], Summary | None]:
    """Return what summarizes the gradients of a pass, each once while it is the same.

    What a node gives is mostly the very tensor that the next one gets, and PyTorch
    keeps its Python object, and weak references to it, for as long as it lives. A
    gradient that is added to has another version; where a hook of the user's may have
    written without one, through ``.data``, an event has come since.
    """
    met: dict[int, tuple[Any, int, int, Summary | None]] = {}

    def summary(tensor: Any) -> Summary | None:
        if tensor is None:
            return None
        version, now = version_of(tensor), log.next_index
        known = met.get(id(tensor))
        if known is not None and known[0]() is tensor and known[1:3] == (version, now):
            return known[3]
        found = log.values.summary(tensor)
        met[id(tensor)] = weakref.ref(tensor), version, now, found
        return found

    return summary


def _gradient_node(torch: Any, tensor: Any) -> Any:
    """Return the node a pass from this tensor begins at."""
    fn = grad_fn_of(tensor)
    return _leaf_node(torch, tensor) if fn is None and tensor.requires_grad else fn


@unheard
def _leaf_node(torch: Any, leaf: Any) -> Any:
    with torch.enable_grad():
        fn = grad_fn_of(leaf.view_as(leaf))
    # Of a tensor that a transform of torch.func is done with there is none.
    return None if fn is None else fn.next_functions[0][0]
