"""Modules of PyTorch that make one call of it: logged without the mode, once known.

Every step of a loop calls ``Linear`` and ``ReLU`` as the step before did. Where a
log does not look at values, such a call is learned from; the next one with the same
kind of inputs runs without our mode on the stack, which costs as much as all else,
and its result is described by what was learned. A Sequential of such modules runs as
one. Whatever is not as it was goes the long way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from gradviz._capture.adapters.pytorch.graph.tensor_table import (
    GLANCE,
    NEEDS,
    NODE,
    SHAPE,
    STORAGE,
)
from gradviz._capture.adapters.pytorch.known_modules.quiet import QuietModules
from gradviz._capture.adapters.pytorch.known_modules.replay import (
    runner_of,
    unusual_context_of,
)
from gradviz._capture.adapters.pytorch.known_modules.template import (
    CallTemplate,
    KnownModule,
    Link,
    ModuleTable,
    Run,
)
from gradviz._capture.adapters.pytorch.known_modules.tensor_guards import tensor_guard
from gradviz._capture.training_loop.patches import Anything, unseen
from gradviz.program.noted import Glance, Noted

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.calls import TorchCalls
    from gradviz._capture.adapters.pytorch.context import TorchContext
    from gradviz._capture.training_loop.modules import ModulePart

_MOST_KINDS = 32  # of inputs that one module is known with
_MOST_TRIES = 4  # to learn of a module that makes other calls than one


class KnownModules:
    """Knows the modules that make one call; :meth:`wrap` has them run and logged."""

    def __init__(self, torch: Any, log: TorchContext, calls: TorchCalls) -> None:
        self.torch = torch
        self.log = log
        self.calls = calls
        self._table = ModuleTable()
        self._quiet = QuietModules(torch, calls, self._table)

    def wrap(self, part: ModulePart, original: Anything, logged: Anything) -> Anything:
        """Return ``Module.__call__``: the quick way where a module is known.

        ``logged`` is the one that logs any module.
        """
        log, known, learn = self.log, self._table.rows.get, self._learn
        rows, grad_enabled = log.tensors.rows.get, self.torch.is_grad_enabled
        unusual, plain = unusual_context_of(log), self.torch.Tensor
        quiet = self._quiet.wrap(part, original, logged)

        @unseen
        def find(module: Any, *args: Any, **kwargs: Any) -> Any:
            """Look for a run of this kind; learn one where there is none."""
            __tracebackhide__ = True
            if log.skims and not grad_enabled():
                return quiet(module, *args, **kwargs)
            ours = type(module) in part.forwards and not kwargs and args and log.brief
            if not ours or type(args[0]) is not plain or log.muted or not part.on:
                return logged(module, *args, **kwargs)
            row = rows(id(args[0]))
            if row is None or len(row) <= GLANCE:
                return logged(module, *args)
            glance, grad, found = row[GLANCE], grad_enabled(), known(id(module))
            kind = glance[SHAPE], glance[NEEDS], module.training, grad
            run = 0 if found is None else found.runs.get(kind, 0)
            if isinstance(run, Run):
                if run.known.last is not run:
                    run.known.last = run
                    return run_known(module, *args)
                if unusual():
                    return logged(module, *args)
                self._table.forget(
                    module
                )  # learned from others, or when it was otherwise
                run = 0
            index = log.next_index
            result = logged(module, *args)
            if grad and run < _MOST_TRIES and not unusual():
                log.try_(learn, module, args, index, kind, result)
            return result

        run_known = runner_of(part, self.calls, self._table, original, find, logged)
        return run_known

    def forget(self, module: Any) -> None:
        """Learn a module anew: it was changed."""
        self._table.forget(module)
        self._quiet.forget(module)

    # ---- learning --------------------------------------------------------------------

    def _learn(
        self, module: Any, args: tuple[Any, ...], index: int, kind: Any, result: Any
    ) -> None:
        """Remember what a module did, where that is one call and nothing else."""
        found = self._table.rows.get(id(module))
        if found is None or found.reference() is not module:
            found = self._table.add(module)
        runs = found.runs
        if len(runs) >= _MOST_KINDS:
            runs.clear()
        tries = runs.get(kind, 0)
        runs[kind] = tries + 1 if isinstance(tries, int) else 1
        if "forward" in module.__dict__:
            return
        self.log.pause()
        try:
            count = self.log.next_index - index
            run = self._run(found, module, args, kind, count, result)
        finally:
            self.log.resume()
        if run is not None:
            runs[kind] = found.last = run

    def _run(
        self,
        found: KnownModule,
        module: Any,
        args: tuple[Any, ...],
        kind: Any,
        count: int,
        result: Any,
    ) -> Run | None:
        """Return what a module did, in so many events."""
        rows = self.log.loop.modules.rows
        if type(module) is self.torch.nn.Sequential:
            links = self._links(module, kind, count - 1)
            if not links or len(args) != 1:
                return None
            row = rows[id(module)][1]
            return Run(found, links, kind[2], 1, tensor_guard(self.torch, *args), row)
        events = self.log.program.raw[-2:]
        kinds = [type(each) is tuple and each[0] for each in events]
        if count != 2 or kinds != ["module", "call"]:
            return None
        event, note = cast(list[Noted], events)
        if not self._is_alone(note, event, result):
            return None
        sources = self._sources(note[2][5], module, args)
        if sources is None or len(set(map(id, args))) < len(args):
            return None  # one thing twice is never alike
        template = CallTemplate(note, sources, tensor_guard(self.torch, result))
        if not template.is_whole():
            return None
        link = Link(found, template, kind[2], rows[id(module)][1])
        return Run(found, (link,), kind[2], len(args), tensor_guard(self.torch, *args))

    def _links(self, module: Any, kind: Any, count: int) -> tuple[Link, ...]:
        """Return what each module of a Sequential does; () where one is not known.

        ``count`` is of the events in it.
        """
        links: list[Link] = []
        (shape, needs, _, grad), children = kind, module.__dict__["_modules"].values()
        for child in children:
            found = self._table.rows.get(id(child))
            run = found and found.runs.get((shape, needs, child.training, grad))
            if not isinstance(run, Run) or run.row is not None:
                return ()
            template = run.links[0].template
            if links and not template.takes(links[-1].template.output):
                return ()
            links += run.links
            output = template.output
            shape, needs = output[SHAPE], output[NEEDS]
        return tuple(links) if count == 2 * len(links) else ()

    def _is_alone(self, note: Noted, event: Noted, result: Any) -> bool:
        """Tell whether a module's call made this one call, which gave its result."""
        _, _, header, outputs, nodes, writes, plain, *_ = note
        if writes or plain is not None or len(outputs) != 1 or not nodes:
            return False
        output, name = outputs[0], header[0]
        return (
            header[1:4] == (*event[2:4], ())  # the line
            and header[8] == event[1]  # inside of this module
            and type(result) is self.torch.Tensor
            and self.log.tensors.rows[id(result)][GLANCE] is output
            and output[STORAGE] not in (0, *[each[STORAGE] for each in header[5]])
            and output[NODE] == nodes[-1]
            and not name.endswith("_")
            and not name.startswith(("empty", "new_empty"))
        )

    def _sources(
        self, inputs: Sequence[Glance], module: Any, args: tuple[Any, ...]
    ) -> list[int | str] | None:
        """Return where a call found its tensors; None for one from elsewhere."""
        places: dict[int | None, int | str] = {}
        number = self.log.tensors.known
        for name, each in module.__dict__["_parameters"].items():
            if each is not None:
                places[number(each)] = name
        for at, each in enumerate(args):
            if type(each) is not self.torch.Tensor:
                return None
            places[number(each)] = at
        found = [places.get(glance[0]) for glance in inputs]
        sources = [each for each in found if each is not None]
        return sources if len(sources) == len(found) else None
