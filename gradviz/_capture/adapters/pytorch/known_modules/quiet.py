"""Lets modules run without our mode where they repeat, and nothing there is to tell.

A policy that plays, or a model that is evaluated, calls its modules under ``no_grad``
again and again, and PyTorch's way through a function mode costs more than its small
calls. In a step that is looked at in brief, a module whose calls were seen to make no
graph, write nowhere and hand out no memory runs as if nobody recorded: not with inputs
of a new kind, and not the first time in a step, as it may do otherwise by then.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeAlias

from gradviz._capture.adapters.pytorch.known_modules.template import ModuleTable
from gradviz._capture.adapters.pytorch.op_names import EXPORTS
from gradviz._capture.adapters.pytorch.repeated_calls import ENOUGH
from gradviz._capture.training_loop.patches import Anything, unseen

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.calls import TorchCalls
    from gradviz._capture.training_loop.modules import ModulePart

Of: TypeAlias = tuple[int, bool]
"""The row of a module, and whether it trains."""

Kind: TypeAlias = tuple[Any, ...]
"""These, and what its arguments are like."""

_MOST_KINDS = 10_000  # that are remembered
_MOST_EVENTS = 10_000  # of one call that are looked through
_NEVER = -1
_PLAIN = (bool, int, float, str, type(None))


class QuietModules:
    """Knows which calls of modules were seen often enough."""

    def __init__(self, torch: Any, calls: TorchCalls, table: ModuleTable) -> None:
        self._log, self._calls, self._table = calls.log, calls, table
        self._tensor = torch.Tensor
        self._peek = torch._C._autograd._get_sequence_nr
        self._counts: dict[Of, int] = {}  # of calls that were quiet
        self._seen: dict[Kind, int] = {}  # the pass after which a kind was last seen

    def wrap(self, part: ModulePart, original: Anything, logged: Anything) -> Anything:
        """Return what calls a module without grad mode, in a step in brief."""
        log, c, mode = self._log, self._log.torch._C, self._calls.mode
        depth, at = c._len_torch_function_stack, c._get_function_stack_at
        pop, push = c._pop_torch_function_stack, c._push_on_torch_function_stack
        rows, counts, seen, table = part.rows.get, self._counts, self._seen, self._table
        peek, kind_of, see = self._peek, self._kind_of, self._see
        storages = log.values.storages

        @unseen
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            known, count = rows(id(module)), depth()
            ours = count and at(count - 1) is mode and not log.muted and part.on
            of = (known[1].key, module.training) if known is not None and ours else None
            told = _NEVER if of is None else counts.get(of, 0)
            if of is None or told == _NEVER:
                return logged(module, *args, **kwargs)
            first, kind = peek(), kind_of(of, args, kwargs)
            if told < ENOUGH or log.passes_over - seen.get(kind, -ENOUGH) >= ENOUGH:
                begun = log.next_index, first, storages.count
                result = logged(module, *args, **kwargs)
                log.try_(see, of, kind, *begun)
                return result
            pop()
            table.inside = get_ident()
            try:
                return original(module, *args, **kwargs)
            finally:
                table.inside = 0
                push(mode)
                if peek() != first:
                    counts[of] = _NEVER

        return call

    def _kind_of(self, of: Of, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Kind:
        tensor = self._tensor
        parts: list[Any] = [of, *kwargs]
        for each in (*args, *kwargs.values()) if kwargs else args:
            if isinstance(each, tensor):
                parts += each.shape, each.dtype
            else:
                parts.append(each if type(each) in _PLAIN else type(each))
        return tuple(parts)

    def _see(self, of: Of, kind: Kind, index: int, first: int, storages: int) -> None:
        """Learn from what was logged of a call whether the next ones may go unseen."""
        log = self._log
        events = log.next_index - index
        if len(self._seen) > _MOST_KINDS:
            self._seen.clear()
            self._counts.clear()
        quiet = events < _MOST_EVENTS and self._peek() == first
        for noted in log.program.raw[-events:] if quiet and events else ():
            quiet = quiet and _is_quiet(noted, storages)
        self._counts[of] = self._counts.get(of, 0) + 1 if quiet else _NEVER
        self._seen[kind] = log.passes_over


def _is_quiet(noted: Any, storages: int) -> bool:
    """Tell whether nobody need know of an event; so many storages were known before."""
    if type(noted) is not tuple or noted[0] not in ("module", "call"):
        return False
    if noted[0] == "module":
        return True
    name, nodes, writes = noted[2][0], noted[4], noted[5]
    if nodes or name in EXPORTS or name.endswith((".get", ".set")):
        return False
    if name.endswith("_") and not (writes or name.endswith("__")):
        return False  # of a flag
    return all(storage > storages for storage, *_ in writes)
