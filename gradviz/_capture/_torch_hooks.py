"""Follows the hooks that a program puts on tensors: where put, when run."""

from __future__ import annotations

import functools
import weakref
from threading import get_ident
from typing import TYPE_CHECKING, Any

from gradviz._capture._torch_graph import code_of
from gradviz._capture._torch_values import version_of
from gradviz.program.events import HookRan, HookRegistered
from gradviz.program.values import Value

if TYPE_CHECKING:
    from gradviz._capture._torch_log import TorchLog

_KINDS = {"register_hook": "tensor"}


class TorchHooks:
    """Puts a wrapper around each new hook, which tells the log when it runs."""

    def __init__(self, torch: Any, log: TorchLog) -> None:
        self.torch = torch
        self.log = log
        self._count = 0

    def register(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Register the user's hook, wrapped."""
        name: str = func.__name__
        hook = args[1] if len(args) > 1 else kwargs.get("hook")
        if len(args) != 2 or not callable(hook):
            return func(*args, **kwargs)
        self._count += 1
        number, tensor = self._count, args[0]
        handle = func(tensor, self._wrapped(hook, number), **kwargs)
        kind = _KINDS.get(name, "post_accumulate")
        self.log.try_(self._registered, tensor, hook, number, kind)
        return handle

    def _registered(self, tensor: Any, hook: Any, number: int, kind: str) -> None:
        log = self.log
        site, stack = log.place()
        with log.lock:
            log.add(
                HookRegistered(
                    index=log.take_index(),
                    site=site,
                    stack=stack,
                    thread=get_ident(),
                    kind=kind,
                    hook=number,
                    code=code_of(hook),
                    value=log.value(tensor),
                    holds=tuple(self._held_by(hook)),
                )
            )

    def _held_by(self, hook: Any) -> list[Value]:
        """Return the tensors in a hook's closure and defaults."""
        function, held = getattr(hook, "__func__", hook), list[Any]()
        if isinstance(function, functools.partial):
            held += [*function.args, *function.keywords.values()]
            function = function.func
        held += list(getattr(function, "__defaults__", None) or ())
        for cell in getattr(function, "__closure__", None) or ():
            try:
                held.append(cell.cell_contents)
            except ValueError:  # not filled yet
                continue
        return [
            self.log.value(each) for each in held if isinstance(each, self.torch.Tensor)
        ]

    def _wrapped(self, hook: Any, number: int) -> Any:
        here = weakref.ref(self)

        @functools.wraps(hook, updated=())
        def run(tensor: Any) -> Any:
            before = version_of(tensor)
            result = hook(tensor)
            hooks = here()
            if hooks is not None and hooks.log.on:
                changed = version_of(tensor) != before
                hooks.log.try_(hooks._ran, number, changed, result is not None)
            return result

        return run

    def _ran(self, number: int, changed: bool, returned: bool) -> None:
        log = self.log
        with log.lock:
            log.add(
                HookRan(
                    index=log.take_index(),
                    thread=get_ident(),
                    hook=number,
                    changed=changed,
                    returned=returned,
                )
            )
