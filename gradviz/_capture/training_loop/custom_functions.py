"""The user's own derivatives: what each call of a Function took, kept and wrote."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Iterable
from types import CodeType
from typing import Any

from gradviz._capture.names.tensors import grad_fn_of
from gradviz._capture.names.user_code import probing
from gradviz._capture.training_loop.derivative_check import LARGEST, check_derivative
from gradviz._capture.training_loop.patches import (
    Anything,
    Part,
    described,
    log_library_function,
    unseen,
)
from gradviz._capture.training_loop.purity import is_repeatable
from gradviz.program.events import Call
from gradviz.program.log import MOST_GONE
from gradviz.program.values import ContextTensor, CustomFunction, Value

_WATCHED = 10_000  # nodes whose ctx is compared when a pass comes


class _Kind:
    """What is known of one class of the user's Functions."""

    def __init__(self, row: CustomFunction) -> None:
        self.row = row
        self.waiting: tuple[list[Any], list[bool]] | None = None  # to be checked
        self.checked = False
        self.returned = False  # its forward did, at least once


class FunctionPart(Part):
    """Logs every call of a Function that the user wrote, and checks its derivative."""

    subject = "Functions"

    def install(self) -> None:
        self.on, self.known = True, False  # whether there is any of the user's
        self._kinds = weakref.WeakKeyDictionary[Any, _Kind | None]()
        self._waiting: list[tuple[Any, _Kind]] = []
        self._watched: dict[int, list[tuple[weakref.ref[Any], ContextTensor]]] = {}
        self._customs: dict[int, CustomFunction] = {}
        self._checking = False
        function = self.lib.autograd.function
        base, context = function.Function, function.FunctionCtx
        self._once = function.once_differentiable(lambda ctx: None).__code__
        apply = self._wrap_apply(vars(base)["apply"].__func__)
        self.patches.set(base, "apply", classmethod(apply))
        mark = self._wrap_mark_dirty(context.mark_dirty)
        self.patches.set(context, "mark_dirty", mark)

    # ---- calls -----------------------------------------------------------------------

    def _wrap_apply(self, original: Anything) -> Anything:
        here, log = self.here, self.log

        @unseen
        @functools.wraps(original)
        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if not self.on or log.muted or self._checking:
                return original(cls, *args, **kwargs)
            begun = self.try_(self._begin, cls, args)
            if begun is None:
                result = original(cls, *args, **kwargs)
                self.try_(log_library_function, self.lib, log, cls, result)
                return result
            call, versions = begun
            now = here.now
            outer, outside, dirty = now.within, now.applying, now.dirty
            now.within, now.applying, now.dirty = call.index, cls, []
            try:
                result = original(cls, *args, **kwargs)
            except Exception as error:
                call.error = f"{type(error).__name__}: {error}"
                raise
            else:
                self.try_(self._end, cls, call, args, versions, result)
                return result
            finally:
                now.within, now.applying, now.dirty = outer, outside, dirty

        return apply

    def _wrap_mark_dirty(self, original: Anything) -> Anything:
        @unseen
        @functools.wraps(original)
        def mark_dirty(ctx: Any, *args: Any) -> Any:
            __tracebackhide__ = True
            if self.on and self.here.now.applying is not None:
                self.here.now.dirty += args
            return original(ctx, *args)

        return mark_dirty

    def _begin(
        self, cls: Any, args: tuple[Any, ...]
    ) -> tuple[Call, list[int | None]] | None:
        kind = self._kind(cls)
        if kind is None:
            return None
        log = self.log
        log.pause()
        try:
            arguments = tuple([described(each, self.lib, log) for each in args])
            versions = [_version(each) for each in args]
            self._keep_for_check(cls, kind, args)
        finally:
            log.resume()
        inputs = tuple([each for each in arguments if isinstance(each, Value)])
        return self.begun(cls.__name__, inputs, arguments, {}), versions

    def _kind(self, cls: Any) -> _Kind | None:
        """Return what is known of a class; None where a library wrote it."""
        if cls in self._kinds:
            return self._kinds[cls]
        forward = _code_of(cls.forward)
        if forward is None or not self.log.user_files[forward.co_filename]:
            self._kinds[cls] = None
            return None
        given = cls.backward
        base = self.lib.autograd.function.Function
        if given is base.backward and cls.vjp is not base.vjp:
            given = cls.vjp
        row = CustomFunction(
            cls.__name__,
            forward,
            _code_of(given),
            once_differentiable=self._is_once(given),
        )
        functions = self.log.program.functions
        del functions[:-MOST_GONE]
        functions.append(row)
        self.known = True
        kind = self._kinds[cls] = _Kind(row)
        return kind

    def _is_once(self, function: Any) -> bool:
        while function is not None:
            if getattr(function, "__code__", None) is self._once:
                return True
            function = getattr(function, "__wrapped__", None)
        return False

    def _end(
        self,
        cls: Any,
        call: Call,
        args: tuple[Any, ...],
        versions: list[int | None],
        result: Any,
    ) -> None:
        kind = self._kind(cls)
        assert kind is not None
        kind.returned = True
        log, tensor = self.log, self.lib.Tensor
        results: tuple[Any, ...] = result if isinstance(result, tuple) else (result,)
        tensors = [each for each in results if isinstance(each, tensor)]
        log.pause()
        try:
            call.outputs = tuple([log.value(each) for each in tensors])
            nodes = [grad_fn_of(each) for each in tensors]
            given = zip(call.arguments, args, versions, strict=True)
            written = [
                before
                for before, each, version in given
                if isinstance(before, Value) and _version(each) != version
            ]
        finally:
            log.resume()
        custom = self._custom(kind.row, call, written)
        node = next(
            (n for n in nodes if getattr(type(n), "_forward_cls", None) is cls), None
        )
        if node is None:
            return
        key = log.node_key(node)
        if key is None:
            key = call.outputs[nodes.index(node)].node
        if key is None:
            return
        call.nodes = (key,)
        log.made(call)
        custom.attributes = self._watch(key, node)
        made = log.program.nodes.get(key)
        if made is not None:
            made.custom, made.call, made.module = custom, call.index, call.module
            return
        self._customs[key] = custom
        if len(self._customs) > _WATCHED:
            del self._customs[next(iter(self._customs))]

    def _custom(
        self, row: CustomFunction, call: Call, written: list[Value]
    ) -> CustomFunction:
        """Note one call of a Function, and in its row what the first one was given."""
        needs = [isinstance(v, Value) and v.requires_grad for v in call.arguments]
        custom = CustomFunction(
            row.name,
            row.forward,
            row.backward,
            inputs=call.arguments,
            needs_grad=tuple(needs),
            once_differentiable=row.once_differentiable,
            dirty=tuple([self.log.tensor(each) for each in self.here.now.dirty]),
            written=tuple(written),
            check=row.check,
        )
        if not row.inputs:
            row.inputs, row.needs_grad = custom.inputs, custom.needs_grad
            row.dirty, row.written = custom.dirty, custom.written
        return custom

    def _watch(self, key: int, node: Any) -> tuple[ContextTensor, ...]:
        """Note the tensors that a ctx keeps as attributes, to compare them later."""
        log, found = self.log, list[tuple[weakref.ref[Any], ContextTensor]]()
        log.pause()
        try:
            for name, held in list(getattr(node, "__dict__", {}).items()):
                several = isinstance(held, list | tuple)
                for at, each in enumerate(held if several else (held,)):
                    if isinstance(each, self.lib.Tensor):
                        label = f"{name}[{at}]" if several else name
                        kept = ContextTensor(label, log.value(each), each._version)
                        found.append((weakref.ref(each), kept))
        finally:
            log.resume()
        if found:
            self._watched[key] = found
            if len(self._watched) > _WATCHED:
                del self._watched[next(iter(self._watched))]
        return tuple([kept for _, kept in found])

    def attach(self) -> None:
        """Put what is known of a call on its node, as soon as the node has a row."""
        nodes = self.log.program.nodes
        for key in list(self._customs):
            if key in nodes:
                nodes[key].custom = self._customs.pop(key)

    # ---- passes ----------------------------------------------------------------------

    def before_backward(self, nodes: Iterable[int]) -> None:
        """Compare the versions of tensors on a ctx, where the pass will come."""
        if self._customs:
            self.attach()
        if not self._watched:
            return
        reached = set(nodes) or set(self._watched)
        self.log.pause()
        try:
            for key in reached & self._watched.keys():
                for reference, kept in self._watched[key]:
                    tensor = reference()
                    if tensor is not None:
                        kept.version_now = tensor._version
        finally:
            self.log.resume()

    # ---- derivatives -----------------------------------------------------------------

    def _keep_for_check(self, cls: Any, kind: _Kind, args: tuple[Any, ...]) -> None:
        """Keep small copies of the first inputs that ask for a gradient."""
        if not self.scan or kind.checked or not self.lib.is_grad_enabled():
            return
        tensor = self.lib.Tensor
        needs = [isinstance(each, tensor) and each.requires_grad for each in args]
        tensors = [each for each in args if isinstance(each, tensor)]
        if not any(needs) or max(each.numel() for each in tensors) > LARGEST:
            return
        kind.checked = True
        opaque = any(map(self.log.is_opaque, tensors))
        if not opaque and is_repeatable(self.lib, cls):
            with probing(), self.log.unheard():
                copies = self._copied(list(args))
            kind.waiting = copies, needs
            self._waiting.append((cls, kind))

    def _copied(self, value: Any) -> Any:
        """Copy tensors, in containers too: later they may hold what is not to live."""
        if isinstance(value, self.lib.Tensor):
            return value.detach().clone()
        if type(value) in (list, tuple):
            return type(value)(self._copied(each) for each in value)
        if type(value) is dict:
            return {key: self._copied(each) for key, each in value.items()}
        return value

    def check_waiting(self) -> None:
        """Check the derivative of every Function that was not checked yet."""
        if not self._waiting or self._checking or self.lib.is_inference_mode_enabled():
            return
        waiting, self._waiting = self._waiting, []
        self._checking = True
        self.log.pause()
        try:
            for cls, kind in waiting:
                if kind.returned:  # what raised, or was interrupted, would do so again
                    self._check(cls, kind)
        finally:
            self._checking = False
            self.log.resume()

    @probing()
    def _check(self, cls: Any, kind: _Kind) -> None:
        assert kind.waiting is not None
        (copies, needs), kind.waiting = kind.waiting, None
        try:
            with self.log.unheard():
                found = check_derivative(
                    self.lib, cls.apply, copies, needs, hurried=True
                )
        except (Exception, SystemExit):
            return  # it cannot run on copies or in float64: nothing is known
        kind.row.check = found
        waiting = [row.custom for row in self.log.program.nodes.values()]
        for custom in [*self._customs.values(), *waiting]:
            if custom is not None and custom.forward is kind.row.forward:
                custom.check = found


def _version(value: Any) -> int | None:
    return getattr(value, "_version", None)


def _code_of(function: Any) -> CodeType | None:
    return getattr(inspect.unwrap(function), "__code__", None)
