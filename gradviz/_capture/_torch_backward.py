"""Logs PyTorch's backward passes: what each was about to walk, and what ran."""

from __future__ import annotations

import functools
import time
import weakref
from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal

from gradviz._capture._loop_base import Patches, unseen
from gradviz._capture._torch_values import grad_fn_of
from gradviz.program.events import Backward
from gradviz.program.values import NodeRun

if TYPE_CHECKING:
    from gradviz._capture._torch_log import TorchLog

MOST_HOOKED = 50_000  # nodes of one pass whose gradients are summarized


class TorchBackward:
    """Wraps the two ways into a backward pass, and the engine below them."""

    def __init__(self, torch: Any, log: TorchLog) -> None:
        self.torch = torch
        self.log = log
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
        log, quiet = self.log, self.torch._C.DisableTorchFunction

        @unseen
        @functools.wraps(original)
        def run(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            # muted: we compute something ourselves, or this is our own second turn
            if log.muted or not log.is_home():
                return original(*args, **kwargs)
            log.pause()
            try:
                with quiet():
                    entry = log.try_(self._begin, api, args, kwargs)
                if entry is None:
                    return original(*args, **kwargs)
                try:
                    result = original(*args, **kwargs)
                except BaseException as error:
                    entry.unhook()
                    with quiet():
                        log.try_(self._end, entry, None, error)
                    raise
                entry.unhook()
                with quiet():
                    log.try_(self._end, entry, result, None)
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
            before = log.wake()
            try:
                return original(*args, **kwargs)
            finally:
                log.doze(before)

        return run

    # ---- before ---------------------------------------------------------------------

    def preflight(self, root: Any) -> Backward:
        """Log a pass from this tensor that is not to run."""
        event = self._describe("backward", [root], [], [], None, False)
        self.log.graph.walk(self._nodes([root]), event)
        return event

    def _begin(
        self, api: Literal["backward", "grad"], args: Any, kwargs: dict[str, Any]
    ) -> _Pass:
        given = _arguments(api, args, kwargs)
        roots = _as_tensors(self.torch, given[0])
        event = self._describe(
            api,
            roots,
            _as_list(self.torch, given[1]),
            _as_tensors(self.torch, given[2]),
            given[3],
            bool(given[4]),
        )
        entry, log = _Pass(event, self._peek(), roots), self.log
        reached = log.graph.look_ahead(self._nodes(roots), event)
        log.loop.before_backward(event.nodes)
        if (log.scan or log.detailed) and len(reached) <= MOST_HOOKED:
            self._hook(entry, reached)
        return entry

    def _describe(
        self,
        api: Literal["backward", "grad"],
        roots: list[Any],
        gradients: list[Any],
        inputs: list[Any],
        retain: bool | None,
        create: bool,
    ) -> Backward:
        log = self.log
        site, stack = log.place()
        event = Backward(
            index=-1,
            site=site,
            stack=stack,
            thread=get_ident(),
            api=api,
            roots=tuple([log.value(each) for each in roots]),
            gradients=tuple(
                [
                    log.value(each) if isinstance(each, self.torch.Tensor) else None
                    for each in gradients
                ]
            ),
            inputs=tuple([log.value(each) for each in inputs]),
            retain_graph=create if retain is None else bool(retain),
            create_graph=create,
        )
        log.append(event)
        return event

    def _nodes(self, roots: list[Any]) -> list[Any]:
        return [_gradient_node(self.torch, root) for root in roots]

    def _hook(self, entry: _Pass, reached: dict[int, Any]) -> None:
        """Ask every node for its gradients. No closure holds a node: it would leak."""
        summary, log = self.log.values.summary, self.log
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
            entry.event.runs.append(NodeRun(key, ins, outs, elapsed_ns, grad))

        for key, fn in reached.items():
            if key < 0:  # of a leaf
                leaves[key] = weakref.ref(fn.variable)
            entry.handles.append(fn.register_prehook(functools.partial(before, key)))
            entry.handles.append(fn.register_hook(functools.partial(after, key)))

    # ---- after ----------------------------------------------------------------------

    def _end(self, entry: _Pass, result: Any, error: BaseException | None) -> None:
        event, log = entry.event, self.log
        if error is not None:
            event.error = f"{type(error).__name__}: {error}"
            event.error_node = entry.running
            log.graph.look_back([grad_fn_of(root) for root in entry.roots], event)
        elif event.api == "grad":
            event.results = tuple(
                None if each is None else log.values.result(each) for each in result
            )
        log.graph.passed(event)
        if event.create_graph:
            log.graph.made_between(entry.first, self._peek(), event)
        log.loop.after_backward()
        log.last_pass, log.passes_over = event, log.passes_over + 1


class _Pass:
    """One pass while it runs."""

    def __init__(self, event: Backward, first: int, roots: list[Any]) -> None:
        self.event = event
        self.roots = roots
        self.first = first  # the number of the node that comes next
        self.handles: list[Any] = []
        self.running: int | None = None
        self.began_ns = 0

    def unhook(self) -> None:
        """Take our hooks off the nodes."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()


_ARGUMENTS = {
    "backward": (
        *("tensors", "grad_tensors", "retain_graph", "create_graph"),
        *("grad_variables", "inputs"),
    ),
    "grad": ("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph"),
}


def _arguments(api: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return tensors, gradients, inputs, retain_graph and create_graph of a call."""
    names = _ARGUMENTS[api]
    given = dict(zip(names, args, strict=False))
    given.update(kwargs)
    get = given.get
    return [
        get(names[0]),
        get("grad_tensors") if api == "backward" else get("grad_outputs"),
        get("inputs"),
        get("retain_graph"),
        get("create_graph", False),
    ]


def _as_list(torch: Any, given: Any) -> list[Any]:
    if given is None:
        return []
    return [given] if isinstance(given, torch.Tensor) else list(given)


def _as_tensors(torch: Any, given: Any) -> list[Any]:
    return [each for each in _as_list(torch, given) if isinstance(each, torch.Tensor)]


def _gradient_node(torch: Any, tensor: Any) -> Any:
    """Return the node a pass from this tensor begins at."""
    fn = grad_fn_of(tensor)
    if fn is not None or not tensor.requires_grad:
        return fn
    with torch.enable_grad():
        return tensor.view_as(tensor).grad_fn.next_functions[0][0]
