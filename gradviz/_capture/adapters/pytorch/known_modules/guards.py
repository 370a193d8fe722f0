"""Looks whether the modules and tensors of a run are as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from gradviz._capture.adapters.pytorch.graph.tensor_table import (
    GLANCE,
    IS_LEAF,
    IS_VIEW,
    NEEDS,
    VERSION,
)
from gradviz._capture.adapters.pytorch.known_modules.template import (
    LIKE,
    HeldParameters,
    Run,
    RunInputs,
)

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext
    from gradviz.program.noted import Glance


def guard_of(log: TorchContext, known: Any) -> Callable[..., RunInputs | None]:
    """Return what looks at all tensors of a run.

    It finds None where a module or a tensor is not as it was. It calls no more than it
    must, so one loop sees to modules and parameters: between PyTorch's kernels a call
    costs far more than what it does.
    """
    values, look, hold = log.values, _argument_reader(log), _parameter_reader(log)

    def check(run: Run, module: Any, args: tuple[Any, ...]) -> RunInputs | None:
        modules: tuple[Any, ...] = (module,)
        if run.row is not None:
            modules += tuple(module.__dict__["_modules"].values())
            if len(modules) != len(run.wanted):
                return None
        given, held = look(run, args), run.held
        if held is None or held.forgotten != values.forgotten:
            held = hold(run, modules[-len(run.links) :])
            if held is None:
                return None
        versions: list[int] = []
        wanted, place = held.wanted, 0
        for each, (before, training, names) in zip(modules, run.wanted, strict=True):
            own = each.__dict__
            if (
                known(id(each)) is not before
                or before.reference() is not each
                or own["training"] is not training
                or type(each).forward is not before.forward
                or own["_forward_hooks"]
                or own["_forward_pre_hooks"]
                or own["_backward_hooks"]
                or own["_backward_pre_hooks"]
            ):
                return None
            parameters = own["_parameters"]
            for name in names:
                tensor, (reference, needs) = parameters.get(name), wanted[place]
                place += 1
                if reference() is not tensor or tensor.requires_grad is not needs:
                    run.held = None
                    return check(run, module, args)
                versions.append(tensor._version)
        return given, held, tuple(versions)

    return check


def _argument_reader(
    log: TorchContext,
) -> Callable[[Run, tuple[Any, ...]], tuple[Glance, ...]]:
    """Return what looks at the inputs of a run; the last look mostly holds."""
    look, rows = log.values.look, log.tensors.rows.get

    def given_to(run: Run, args: tuple[Any, ...]) -> tuple[Glance, ...]:
        given: tuple[Glance, ...] = ()
        for source, needs in run.given:
            tensor = args[source]
            row = rows(id(tensor), ())
            if (
                len(row) <= GLANCE
                or row[0]() is not tensor
                or row[GLANCE][VERSION] != tensor._version
                or row[GLANCE][NEEDS] is not needs
            ):
                given += (look(tensor),)
            else:
                given += (row[GLANCE],)
        return given

    return given_to


def _parameter_reader(
    log: TorchContext,
) -> Callable[[Run, Iterable[Any]], HeldParameters | None]:
    """Return what looks at the parameters of a run one by one."""
    values, look, rows = log.values, log.values.look, log.tensors.rows.get
    ordinary = {log.torch.Tensor, log.torch.nn.Parameter}

    def hold(run: Run, modules: Iterable[Any]) -> HeldParameters | None:
        found: list[tuple[Any, ...]] = []
        for each, link in zip(modules, run.links, strict=True):
            for name, like in link.template.wanted:
                if type(name) is int:
                    continue
                tensor = each.__dict__["_parameters"].get(name)
                if type(tensor) not in ordinary or look(tensor)[LIKE] != like:
                    return None
                found.append(rows(id(tensor), ()))
        held = HeldParameters(found, values.forgotten)
        if all(glance[IS_LEAF] and not glance[IS_VIEW] for glance in held.glances):
            run.held = held  # what is written to a template changes but its version
        return held

    return hold
