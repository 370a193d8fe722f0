"""Describes calls that are about to run: their arguments, the line, and where it is."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

from gradviz._capture.adapters.pytorch.op_names import Op
from gradviz.program.noted import Glance

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext

GivenTensors: TypeAlias = list[tuple[Any, Glance]]
"""The tensors that a call is given, as they are before it."""

OpenCall: TypeAlias = tuple[tuple[Any, ...], GivenTensors, int]
"""What a note tells of a call's beginning, and the number before that of its nodes."""

_GLANCE_OF = itemgetter(1)
_SIMPLE = frozenset({int, float, bool, type(None)})


def call_opener(log: TorchContext) -> Callable[..., OpenCall | None]:
    """Return what describes a call; it finds None where the call is no event."""
    torch, values, users = log.torch, log.values, log.user_files
    look, argument, tensor_type = values.look, values.argument, torch.Tensor
    peek, here = torch._C._autograd._get_sequence_nr, log.here

    def begin(
        op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], caller: FrameType
    ) -> OpenCall | None:
        try:
            place = here.now
            # A step with a closure runs unmuted; it is logged as a whole.
            if place.stepping is not None and log.site() == log.loop.step_site:
                return None
            met: GivenTensors = []
            arguments: list[Any] = []
            only_tensors = not kwargs
            for each in args:
                cls = type(each)
                if cls is tensor_type or (
                    cls not in _SIMPLE and isinstance(each, tensor_type)
                ):
                    glance = look(each)
                    met.append((each, glance))
                    arguments.append(glance)
                else:
                    only_tensors = False
                    arguments.append(each if cls in _SIMPLE else argument(each, met))
            keywords: list[Any] = []
            for key, each in kwargs.items():
                simple = type(each) in _SIMPLE
                keywords += key, each if simple else argument(each, met)
            inputs = given = tuple(arguments)
            if not only_tensors:
                inputs = (met[0][1],) if len(met) == 1 else tuple(map(_GLANCE_OF, met))
            if op.touches_flags:  # it may move a tensor to other memory
                values.resolve()
            code, lasti, stack = caller.f_code, caller.f_lasti, ()
            if not (log.brief and users[code.co_filename]):
                if values.detailed:
                    values.complete(met)
                code, lasti, stack = log.found_from(caller, place)
            header = (
                op.name,
                code,
                lasti,
                stack,
                place.thread,
                inputs,
                given,
                tuple(keywords),
                place.module,
                place.within,
            )
            return header, met, peek()
        except Exception as error:
            log.stop(error)
            return None

    return begin
