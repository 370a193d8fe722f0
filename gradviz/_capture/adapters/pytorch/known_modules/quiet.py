"""Lets modules run without our mode where they repeat, and nothing there is to tell.

A policy that plays, or a model that is evaluated, calls its modules under ``no_grad``
again and again, and PyTorch's way through a function mode costs more than its small
calls. In a step that is looked at in brief, a module whose calls were seen to make no
graph, write nowhere and hand out no memory runs as if nobody recorded: not with inputs
of a new kind, not once it or a module in it was changed, and every few steps not
either. Where it does otherwise all the same, it is told as one call, or the call of
PyTorch's that failed in it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from inspect import isfunction
from operator import attrgetter
from threading import get_ident
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import ref

from gradviz._capture.adapters.pytorch.graph.tensor_table import STORAGE, with_version
from gradviz._capture.adapters.pytorch.known_modules.failed_calls import failed_call
from gradviz._capture.adapters.pytorch.known_modules.replay import observer_check
from gradviz._capture.adapters.pytorch.known_modules.template import ModuleTable
from gradviz._capture.adapters.pytorch.limitations import RAN_UNSEEN, unseen_inside
from gradviz._capture.adapters.pytorch.op_names import EXPORTS, Op
from gradviz._capture.adapters.pytorch.repeated_calls import ENOUGH
from gradviz._capture.adapters.pytorch.tensor_records import version_of
from gradviz._capture.training_loop.patches import Anything, unseen

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.calls import TorchCalls
    from gradviz._capture.training_loop.modules import ModulePart
    from gradviz.program.noted import Glance

Of: TypeAlias = tuple[int, bool]
"""The row of a module, and whether it trains."""

Kind: TypeAlias = tuple[Any, ...]
"""These, and what its arguments are like."""

TensorVersions: TypeAlias = tuple[list[Any], list[int]]
"""Tensors, None for one that is gone, and the versions of these."""

_MOST_KINDS = 10_000  # that are remembered
_MOST_EVENTS = 10_000  # of one call that are looked through
_DEEPEST = 3  # containers among the arguments
_NEVER = -1
_VERSION_OF = attrgetter("_version")
_PLAIN = (bool, int, float, str, type(None))


class _Members:
    """What a module consists of: what it may write to, and the code it runs."""

    __slots__ = ("_forwards", "_tensors")

    def __init__(self, module: Any) -> None:
        parts = _all_in(module)
        held = {id(each): each for part in parts for each in _tensors_of(part)}
        self._tensors = [ref(each) for each in held.values()]
        self._forwards = list[tuple[Any, Any]]()
        for cls in set(map(type, parts)):
            for owner in cls.__mro__:
                forward = vars(owner).get("forward")
                self._forwards.append((ref(owner), _held(forward)))
                if forward is not None:
                    break

    def are_as_they_were(self) -> bool:
        """Tell whether the classes run the code that was seen."""
        for reference, forward in self._forwards:
            owner = reference()
            if owner is None or owner.__dict__.get("forward") is not forward():
                return False
        return True

    def living(self) -> list[Any]:
        """Return the parameters and buffers, None for one that is gone."""
        return [reference() for reference in self._tensors]


def _held(function: Any) -> Callable[[], Any]:
    """Return what gives a function while it lives; other things are held."""
    return ref(function) if isfunction(function) else lambda: function


def _all_in(module: Any) -> list[Any]:
    """Return a module and all in it; no method is asked, which may be the user's."""
    found, left = {id(module): module}, [module]
    while left:
        for each in vars(left.pop()).get("_modules", {}).values():
            if each is not None and id(each) not in found:
                found[id(each)] = each
                left.append(each)
    return list(found.values())


def _tensors_of(module: Any) -> Iterator[Any]:
    for kind in ("_parameters", "_buffers"):
        for each in vars(module).get(kind, {}).values():
            if each is not None:
                yield each


class QuietModules:
    """Knows which calls of modules were seen often enough."""

    def __init__(self, torch: Any, calls: TorchCalls, table: ModuleTable) -> None:
        self._log, self._calls, self._table = calls.log, calls, table
        self._torch = torch
        self._plain = frozenset({torch.Tensor, torch.nn.Parameter})
        self._peek = torch._C._autograd._get_sequence_nr
        self._counts: dict[Of, int] = {}  # of calls that were quiet
        self._members: dict[Of, _Members] = {}  # of those that were often enough
        self._seen: dict[Kind, int] = {}  # the pass after which a kind was last seen
        self._parts: dict[int, set[Of]] = {}  # by id of a module: what it is part of

    def wrap(self, part: ModulePart, original: Anything, logged: Anything) -> Anything:
        """Return what calls a module without grad mode, in a step in brief."""
        log, c, mode = self._log, self._log.torch._C, self._calls.mode
        depth, at = c._len_torch_function_stack, c._get_function_stack_at
        pop, push = c._pop_torch_function_stack, c._push_on_torch_function_stack
        rows, counts, table = part.rows.get, self._counts, self._table
        look, see, peek, exports = self._look, self._see, self._peek, log.exports
        observed = observer_check(log)

        @unseen
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            known, count = rows(id(module)), depth()
            ours = count and at(count - 1) is mode and not log.muted and part.on
            of = (known[1].key, module.training) if known is not None and ours else None
            if of is None or counts.get(of) == _NEVER or observed():
                return logged(module, *args, **kwargs)
            before = None
            pop()  # a look at a tensor would pass through it
            try:
                kind, before = look(of, args, kwargs)
            except Exception as error:
                log.stop(error)
                kind = None
            except BaseException:
                push(mode)
                raise
            if before is None:
                push(mode)
                begun = log.next_index, peek(), exports.count
                result = logged(module, *args, **kwargs)
                if kind is not None:
                    log.try_(see, of, kind, module, *begun)
                return result
            first, table.inside, result = peek(), get_ident(), None
            try:
                result = original(module, *args, **kwargs)
                return result
            except BaseException as error:
                table.inside = 0
                log.try_(self._failed, error)
                raise
            finally:
                table.inside = 0
                try:
                    if peek() != first or _versions(before[0]) != before[1]:
                        counts[of] = _NEVER
                        here, given = sys._getframe(1), (args, kwargs)
                        told = module, given, here, before, first, result
                        log.try_(self._deviated, *told)
                finally:
                    push(mode)

        return call

    def _look(
        self, of: Of, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Kind | None, TensorVersions | None]:
        """Return what a call is like, and with that what it might write to.

        The one is None where such calls are never quiet, the other where this one is
        to be seen.
        """
        given = (*args, *kwargs.values()) if kwargs else args
        parts: list[Any] = [of, *kwargs]
        tensors: list[Any] = []
        if not self._add_kinds(parts, tensors, given, _DEEPEST):
            return None, None
        kind, members = tuple(parts), self._members.get(of)
        if (
            members is None
            or self._log.passes_over - self._seen.get(kind, -ENOUGH) >= ENOUGH
            or not members.are_as_they_were()
        ):
            return kind, None
        tensors += members.living()
        return kind, (tensors, _versions(tensors))

    def _add_kinds(
        self, parts: list[Any], tensors: list[Any], given: Iterable[Any], depth: int
    ) -> bool:
        """Add what things are like, and the tensors among them.

        It is false where one is of a class that has a say in what is done with it.
        """
        plain, tensor = self._plain, self._torch.Tensor
        for each in given:
            cls = type(each)
            if cls in plain:
                parts += each.shape, each.dtype
                tensors.append(each)
            elif cls in _PLAIN:
                parts.append(each)
            elif isinstance(each, tensor):
                return False
            else:
                parts.append(id(cls))
                if depth and cls in (tuple, list, dict):
                    parts.append(len(each))
                    inner = each.values() if cls is dict else each
                    if not self._add_kinds(parts, tensors, inner, depth - 1):
                        return False
        return True

    def forget(self, module: Any) -> None:
        """See a module anew, and all that it is part of: it was changed."""
        for of in self._parts.pop(id(module), ()):
            self._members.pop(of, None)
            if self._counts.get(of, 0) != _NEVER:
                self._counts[of] = 0

    # ---- learning --------------------------------------------------------------------

    def _see(
        self,
        of: Of,
        kind: Kind,
        module: Any,
        index: int,
        first: int,
        exports: int,
    ) -> None:
        """Learn from what was logged of a call whether the next ones may go unseen."""
        log = self._log
        events = log.next_index - index
        if len(self._seen) > _MOST_KINDS:
            for table in (self._seen, self._counts, self._members, self._parts):
                table.clear()
        quiet = events < _MOST_EVENTS and self._peek() == first
        quiet = quiet and log.exports.count == exports  # also of what is passed over
        quiet = quiet and (not events or _are_quiet(log.program.raw[-events:]))
        self._counts[of] = count = self._counts.get(of, 0) + 1 if quiet else _NEVER
        self._seen[kind] = log.passes_over
        self._members.pop(of, None)
        if count >= ENOUGH:
            self._members[of] = _Members(module)
        if quiet and (count == 1 or count >= ENOUGH):
            for each in _all_in(module):
                self._parts.setdefault(id(each), set()).add(of)

    # ---- what did otherwise ----------------------------------------------------------

    def _deviated(
        self,
        module: Any,
        given: tuple[tuple[Any, ...], dict[str, Any]],
        caller: FrameType,
        before: TensorVersions,
        first: int,
        result: Any,
    ) -> None:
        """Log a module that wrote, or made a graph, as one call."""
        log, name = self._log, type(module).__name__
        look = log.values.look
        written: list[tuple[Any, Glance]] = []
        for tensor, version in zip(*before, strict=True):
            if version_of(tensor) != version:
                written.append((tensor, with_version(look(tensor), version)))
        opened = self._calls.begin(Op(name, "record"), *given, caller)
        if opened is None:
            return
        header, met, _ = opened
        others = [pair for pair in met if all(pair[0] is not it for it, _ in written)]
        met = [*written, *others]
        inputs = tuple([glance for _, glance in met])
        op, code, lasti, stack, thread, _, *rest = header
        header = op, code, lasti, stack, thread, inputs, *rest
        log.program.unseen[code, lasti] = sentence = unseen_inside(name, RAN_UNSEEN)
        log.note_once(sentence)
        self._calls.end(Op(name, "record"), (header, met, first), result)

    def _failed(self, error: BaseException) -> None:
        """Log the call of PyTorch's that raised, where the frames still tell it."""
        call = failed_call(self._torch, error)
        if call is not None:
            op, calls = self._calls.op(call.function), self._calls
            calls.failed(op, call.args, call.kwargs, call.frame, None, error)


def _versions(tensors: list[Any]) -> list[int]:
    try:
        return list(map(_VERSION_OF, tensors))
    except (AttributeError, RuntimeError):  # one is gone, or of inference mode
        return [version_of(each) for each in tensors]


def _are_quiet(events: Iterable[Any]) -> bool:
    """Tell whether nobody need know of some events: they write but what they made."""
    made: set[int] = set()
    for noted in events:
        if type(noted) is not tuple or noted[0] not in ("module", "call"):
            return False
        if noted[0] == "module":
            continue
        (name, *_), outputs, nodes, writes = noted[2:6]
        given = {glance[STORAGE] for glance in noted[2][5]}
        if nodes or name in EXPORTS or name.endswith((".get", ".set")):
            return False
        if name.endswith("_") and not (writes or name.endswith("__")):
            return False  # of a flag
        if any(storage not in made for storage, *_ in writes):
            return False
        made |= {glance[STORAGE] for glance in outputs} - given
    return True
