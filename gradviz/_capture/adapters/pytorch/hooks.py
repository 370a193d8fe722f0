"""Follows the hooks that a program puts on tensors: where put, when run."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections import OrderedDict
from threading import get_ident
from typing import TYPE_CHECKING, Any

from gradviz._capture.adapters.pytorch.gradient_guard import OwnHook
from gradviz._capture.adapters.pytorch.tensor_records import version_of
from gradviz._capture.names.hooks import Owners, code_of, held_by, users_hooks
from gradviz._capture.training_loop.patches import Patches, unseen
from gradviz.program.events import HookRan, HookRegistered
from gradviz.program.values import Value

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext


_KINDS = {"register_hook": "tensor"}


class TorchHooks:
    """Puts a wrapper around each new hook, which tells the log when it runs."""

    def __init__(self, torch: Any, log: TorchContext) -> None:
        self.torch = torch
        self.log = log
        self._patches = Patches()
        self._events: weakref.WeakKeyDictionary[Any, HookRegistered]
        self._events = weakref.WeakKeyDictionary()  # by the handle
        self._count = 0
        self._owners = Owners()
        self.own = OwnHook()
        self._node: int | None = None

    def install(self) -> None:
        """Learn of handles that are removed."""
        cls = self.torch.utils.hooks.RemovableHandle
        original, events = cls.remove, self._events

        @unseen
        @functools.wraps(original)
        def remove(handle: Any) -> None:
            __tracebackhide__ = True
            original(handle)
            event = events.get(handle)
            if event is not None:
                event.removed = True

        self._patches.set(cls, "remove", remove)
        mixin = self.torch.autograd.function._HookMixin
        register, own = mixin._register_hook, self.own

        @unseen
        def register_on_node(table: Any, hook: Any) -> Any:
            __tracebackhide__ = True
            if hook is own.hook and table is None:
                return OrderedDict(((-1, hook),)), None  # a handle's number is above
            result = register(table, hook)
            if not self.log.muted:
                self.log.try_(self._on_node, hook, result[1])
            return result

        self._patches.set(mixin, "_register_hook", staticmethod(register_on_node))

    def asked_for_node(self, tensor: Any) -> None:
        """Remember whose ``grad_fn`` was read last: a hook may be put on it."""
        self._node = self.log.value(tensor).node

    def remove(self) -> None:
        """Put PyTorch's own handles back."""
        self._patches.restore()

    # ---- registration ---------------------------------------------------------------

    def wrapped(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a registration with the user's hook wrapped."""
        hook = args[1] if len(args) > 1 else kwargs.get("hook")
        if not self.log.on or self.log.muted or not callable(hook):
            return args, kwargs
        self._count += 1
        return (*args[:1], self._wrapper(hook, self._count)), {}

    def registered(self, func: Any, args: tuple[Any, ...], handle: Any) -> None:
        """Log a hook that was put on a tensor."""
        number = getattr(args[-1], "gradviz_hook", None)
        if number is not None:
            kind = _KINDS.get(func.__name__, "post_accumulate")
            self.log.try_(self._registered, *args, number, kind, handle)

    def _registered(
        self, tensor: Any, run: Any, number: int, kind: str, handle: Any
    ) -> None:
        log, hook = self.log, run.__wrapped__
        site, stack = log.place()
        value = log.value(tensor)
        event = self._events[handle] = HookRegistered(
            index=0,
            site=site,
            stack=stack,
            thread=get_ident(),
            kind=kind,
            hook=number,
            code=code_of(hook),
            value=value,
            target=value.node,
            holds=self._held_by(hook),
            owner=self._owners.number(hook),
        )
        log.append(event)

    def _on_node(self, hook: Any, handle: Any) -> None:
        for each in users_hooks(hook):
            self._users_on_node(each, handle)

    def _users_on_node(self, hook: Any, handle: Any) -> None:
        log, code = self.log, code_of(hook)
        if code is not None and code.co_filename.startswith(log.library):
            return  # PyTorch put it there for itself, as where it traces a backward
        self._count += 1
        site, stack = log.place()
        event = self._events[handle] = HookRegistered(
            index=0,
            site=site,
            stack=stack,
            thread=get_ident(),
            kind="node",
            hook=self._count,
            code=code,
            target=self._node,
            holds=self._held_by(hook),
            owner=self._owners.number(hook),
        )
        log.append(event)

    def _held_by(self, hook: Any) -> tuple[Value, ...]:
        return tuple([self.log.value(t) for t in held_by(hook, self.torch.Tensor)])

    # ---- run -----------------------------------------------------------------------

    def _wrapper(self, hook: Any, number: int) -> Any:
        here = weakref.ref(self)

        @unseen
        def run(tensor: Any) -> Any:
            __tracebackhide__ = True
            before = version_of(tensor)
            result = hook(tensor)
            hooks = here()
            if hooks is not None and hooks.log.on:
                changed = version_of(tensor) != before
                hooks.log.try_(hooks._ran, number, changed, result is not None)
            return result

        with contextlib.suppress(AttributeError, TypeError):
            functools.update_wrapper(run, hook, updated=())
        run.__wrapped__ = hook  # type: ignore[attr-defined]
        run.gradviz_hook = number  # type: ignore[attr-defined]
        return run

    def _ran(self, number: int, changed: bool, returned: bool) -> None:
        self.log.append(
            HookRan(
                index=0,
                thread=get_ident(),
                hook=number,
                changed=changed,
                returned=returned,
            )
        )
