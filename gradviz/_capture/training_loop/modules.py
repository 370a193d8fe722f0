"""Modules: where they were made, what they hold, when they ran, who hooked them."""

from __future__ import annotations

import functools
import inspect
import math
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from threading import get_ident
from types import CodeType, FrameType
from typing import Any

from gradviz._capture.names.holders import is_users
from gradviz._capture.names.hooks import code_of
from gradviz._capture.names.tensors import locals_of
from gradviz._capture.training_loop.patches import Anything, Part, Place, unseen
from gradviz.program.events import HookRegistered, TrainingSwitched
from gradviz.program.log import MOST_GONE, Gone
from gradviz.program.records import Module
from gradviz.program.values import RawSite

_MOST_MODULES = 20_000  # rows of the table; what is made beyond has none
_SWITCHES = frozenset(
    {
        *("requires_grad", "require_grad", "required_grad", "requires_grads"),
        *("requires_gradient", "require_gradient", "requiresgrad", "trainable"),
        *("train", "eval", "is_training", "train_mode"),
    }
)
_TOLD = 8  # calls of a module without a graph, where not all are told
_LARGEST = 1_000  # elements of a plain container that are looked at


class ModulePart(Part):
    """Logs construction, calls and train/eval of modules, and keeps their table."""

    subject = "Modules"
    call_code: CodeType | None = None  # of the wrapper that stands for __call__
    fast_path: Any = (
        None  # what knows a quicker way into modules, where an engine has one
    )

    def install(self) -> None:
        self.on = True
        self.rows: dict[int, tuple[weakref.ref[Any], Module]] = {}
        self._count = 0
        self._gone = Gone(MOST_GONE)
        self.forwards: dict[type, CodeType] = {}  # of the library's own modules
        self._told: dict[tuple[int, bool], int] = {}  # by module and training
        nn = self.lib.nn
        base = self._base = nn.Module
        self._plain = set(vars(base()))
        self.patches.set(base, "__init__", self._wrap_init(base.__init__))
        call = wrap_call(self, base.__call__)
        if self.fast_path is not None:
            call = self.fast_path.wrap(self, base.__call__, call)
        self.patches.set(base, "__call__", call)
        self.patches.set(base, "train", self._wrap_train(base.train))
        self.patches.set(base, "__setattr__", self._wrap_setattr(base.__setattr__))
        register = nn.modules.module.register_module_parameter_registration_hook
        self.patches.hook(register, self._registered)
        for kind in ("module", "buffer"):  # also those that no attribute is set for
            name = f"register_module_{kind}_registration_hook"
            self.patches.hook(getattr(nn.modules.module, name), self.changed)

    def changed(self, module: Any, *_: Any) -> None:
        """Let nothing be known by heart of a module that is not as it was."""
        if self.fast_path is not None:
            self.fast_path.forget(module)

    # ---- the table -------------------------------------------------------------------

    def known(self, module: Any) -> int | None:
        """Return the key of a module that has a row."""
        row = self.rows.get(id(module))
        return None if row is None or row[0]() is not module else row[1].key

    def row(self, module: Any) -> Module:
        """Return the row of a module; a new one on first sight."""
        known = self.rows.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        self._count += 1
        row = Module(self._count, type(module).__name__)
        key, table, rows_gone = id(module), self.rows, self._gone
        number, modules = row.key, self.log.program.modules

        def forget(gone: weakref.ref[Any]) -> None:
            rows_gone.add(number)
            if key in table and table[key][0] is gone:
                del table[key]

        table[key] = (weakref.ref(module, forget), row)
        for old in rows_gone.too_many():
            modules.pop(old, None)
        if len(modules) < _MOST_MODULES:
            modules[number] = row
        return row

    def living(self) -> list[tuple[Any, Module]]:
        """Return all modules that are alive, with their rows."""
        pairs = [(ref(), row) for ref, row in list(self.rows.values())]
        return [(module, row) for module, row in pairs if module is not None]

    def refresh(self) -> None:
        """Look at what every module holds now."""
        for module, row in self.living():
            self.try_(self.describe, module, row)

    def describe(self, module: Any, row: Module) -> None:
        own = vars(module)
        if "_parameters" not in own:
            return  # its __init__ has not come that far
        log = self.log
        log.pause()
        try:
            row.parameters = {
                name: log.tensor(each)
                for name, each in own["_parameters"].items()
                if each is not None
            }
            with log.unasked():
                for name, key in row.parameters.items():
                    facts = log.program.tensors[key]
                    facts.is_parameter = True
                    facts.frozen = not own["_parameters"][name].requires_grad
                    facts.count = _count(own["_parameters"][name])
            row.children = {
                name: self.row(child).key
                for name, child in own["_modules"].items()
                if child is not None
            }
            row.training = bool(own.get("training", True))
            row.batches = self._batches(own)
            row.hidden = self._hidden(module, own)
            self._odd_parameters(own["_parameters"], row)
        finally:
            log.resume()

    def _batches(self, own: dict[str, Any]) -> int | None:
        """Return how many batches a norm has seen; None where asking would wait.

        That is for a device, for other ranks, or for numbers that nobody computes.
        """
        counter = own.get("_buffers", {}).get("num_batches_tracked")
        if type(counter) is not self.lib.Tensor or counter.device.type != "cpu":
            return None
        return int(counter)

    def _odd_parameters(self, parameters: dict[str, Any], row: Module) -> None:
        for name, each in parameters.items():
            for odd in _SWITCHES.intersection(getattr(each, "__dict__", ())):
                row.odd.setdefault(f"{name}.{odd}", None)

    def _hidden(
        self, module: Any, own: dict[str, Any]
    ) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
        """Return attributes with parameters that ``parameters()`` does not give."""
        found: list[tuple[str, str, tuple[int, ...]]] = []
        registered: set[int] | None = None
        for name, value in own.items():
            kind = type(value)
            if name in self._plain or kind in _HARMLESS:
                continue
            through = dict[str, None]()
            tensors = self._trainable(value, 3, through)
            if tensors and registered is None:
                registered = {id(each) for each in module.parameters()}
            keys = [
                self.log.tensor(each)
                for each in tensors
                if id(each) not in (registered or ())
            ]
            if keys:
                outer = "object" if kind.__name__ in through else kind.__name__
                container = " of ".join((outer, *reversed(through)))
                found.append((name, container, tuple(dict.fromkeys(keys))))
        return tuple(found)

    def _trainable(self, value: Any, depth: int, through: dict[str, None]) -> list[Any]:
        """Return leaves that need a gradient inside plain containers and objects.

        ``through`` gets the classes of the user's that such objects have.
        """
        if isinstance(value, self.lib.Tensor):
            return [value] if value.requires_grad and value.is_leaf else []
        if isinstance(value, self._base):
            return list(value.parameters()) if depth < 3 else []
        inside, owner = value, ""
        if isinstance(value, dict):
            inside = value.values()
        elif not isinstance(value, list | tuple | set | frozenset):
            if not is_users(type(value)):
                return []
            owner, depth = type(value).__name__, min(depth, 2)  # it may hold much data
            inside = getattr(value, "__dict__", {}).values()
        each = list(islice(inside, _LARGEST)) if depth else []
        found = [t for e in each for t in self._trainable(e, depth - 1, through)]
        if owner and found:
            through[owner] = None
        return found

    # ---- construction ----------------------------------------------------------------

    def _wrap_init(self, original: Anything) -> Anything:
        @unseen
        @functools.wraps(original)
        def init(module: Any, *args: Any, **kwargs: Any) -> None:
            __tracebackhide__ = True
            if self.on:
                self.try_(self._made, module, sys._getframe(1))
            original(module, *args, **kwargs)

        return init

    def _made(self, module: Any, frame: FrameType | None) -> None:
        row = self.row(module)
        found = self._construction(module, frame)
        if found is not None:
            row.site = found.f_code, found.f_lasti
            row.stack = self.log.outside(found)
        row.made = self.log.next_index

    def _construction(self, module: Any, frame: FrameType | None) -> FrameType | None:
        """Return the user's frame outside of the module's own ``__init__``."""
        users, found = self.log.user_files, None
        while frame is not None:
            code = frame.f_code
            if users[code.co_filename]:
                found = frame
                if code.co_name != "__init__" or not code.co_varnames:
                    break
                if locals_of(frame).get(code.co_varnames[0]) is not module:
                    break
            frame = frame.f_back
        return found

    def _registered(self, module: Any, name: str, parameter: Any) -> None:
        if self.on and parameter is not None:
            self.try_(self._note_parameter, parameter)

    def _note_parameter(self, parameter: Any) -> None:
        log = self.log
        facts = log.program.tensors[log.tensor(parameter)]
        facts.is_parameter = True
        if facts.made is None:
            facts.made = log.site()

    # ---- calls -----------------------------------------------------------------------

    def is_told(self, module: Any) -> bool:
        """Tell whether calls of a module without a graph were told often enough."""
        known = self.rows.get(id(module))
        if known is None or self.lib.is_grad_enabled():
            return False
        if len(self._told) > _MOST_MODULES:
            self._told.clear()
        key = known[1].key, module.training
        count = self._told[key] = self._told.get(key, 0) + 1
        return count > _TOLD

    def note_forward(self, cls: type) -> None:
        """Learn of a library's forward: what it calls is at the module's line."""
        code = getattr(getattr(cls, "forward", None), "__code__", None)
        library = cls.__module__.startswith(f"{self.lib.__package__}.nn.")
        if code is not None and library:  # a user's class is not to be kept alive
            self.forwards[cls] = code

    # ---- train and eval --------------------------------------------------------------

    def _wrap_train(self, original: Anything) -> Anything:
        here = self.here

        @unseen
        @functools.wraps(original)
        def train(module: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if not self.on:
                return original(module, *args, **kwargs)
            mode = args[0] if args else kwargs.get("mode", True)
            if here.now.switching:
                self.try_(self._switches, module, mode)
                return original(module, *args, **kwargs)
            here.now.switching, here.now.changed = True, []
            self.try_(self._switches, module, mode)
            try:
                return original(module, *args, **kwargs)
            finally:
                here.now.switching = False
                self.try_(self._switched, module, mode, tuple(here.now.changed))

        return train

    def _switches(self, module: Any, mode: Any) -> None:
        if vars(module).get("training") is not mode:
            self.here.now.changed.append(self.row(module).key)

    def _switched(self, module: Any, mode: Any, changed: tuple[int, ...]) -> None:
        log, row = self.log, self.row(module)
        row.training = bool(mode)
        log.append(
            TrainingSwitched(
                index=0,
                site=log.site(),
                stack=log.stack(),
                thread=get_ident(),
                module=row.key,
                training=bool(mode),
                changed=changed,
            )
        )

    # ---- attributes ------------------------------------------------------------------

    def _wrap_setattr(self, original: Anything) -> Anything:
        here = self.here

        @unseen
        @functools.wraps(original)
        def set_attribute(module: Any, name: str, value: Any) -> None:
            __tracebackhide__ = True
            if (
                (name == "training" or name in _SWITCHES)
                and self.on
                and not here.now.switching
            ):
                self.try_(self._attribute, module, name, value, sys._getframe(1))
            original(module, name, value)
            self.changed(module)

        return set_attribute

    def _attribute(self, module: Any, name: str, value: Any, frame: FrameType) -> None:
        users = self.log.user_files[frame.f_code.co_filename]
        if not users or "_parameters" not in vars(module):
            return
        if name == "training":
            changed = module.training is not value
            self._switched(module, value, (self.row(module).key,) if changed else ())
        elif isinstance(value, bool) and not self._is_own(module, name, frame):
            self.row(module).odd[name] = frame.f_code, frame.f_lasti

    def _is_own(self, module: Any, name: str, frame: FrameType) -> bool:
        """Tell whether a class sets an attribute of its own, which it may use."""
        cls = type(module)
        if self.log.user_files[sys.modules[cls.__module__].__file__ or ""]:
            code = frame.f_code
            first = code.co_varnames[0] if code.co_argcount else ""
            return locals_of(frame).get(first) is module
        return isinstance(getattr(cls, name, None), property)


_HARMLESS = frozenset({bool, int, float, str, bytes, type(None), complex})


# ---- calls, each noted on the user's line --------------------------------------------


def wrap_call(part: ModulePart, original: Anything) -> Anything:
    """Return ``Module.__call__`` with a note of each call."""
    here, log, known = part.here, part.log, part.rows.get
    raw, left, find = log.program.raw, log.program.left, finder(part)
    acquire, release = log.lock.acquire, log.lock.release
    grad_enabled, forwards = part.lib.is_grad_enabled, part.forwards

    @unseen
    @functools.wraps(original)
    def call(module: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        place = here.now
        outer, around, outside = place.module, place.site, place.forward
        if not part.on or log.muted or (log.skims and part.is_told(module)):
            place.site = None  # what may be seen inside is not of that line
            try:
                return original(module, *args, **kwargs)
            finally:
                place.site = around
        try:
            found = known(id(module))
            row = part.row(module) if found is None else found[1]
            if not row.calls:
                part.describe(module, row)
                part.note_forward(type(module))
            row.calls += 1
            place.site = code, lasti = find(sys._getframe(1), place)
            place.forward = forwards.get(type(module))
            training, grad = module.training, grad_enabled()
            key, thread = row.key, place.thread
            acquire()  # as Log.note() does, which would be another call
            try:
                index = log.next_index
                log.next_index = index + 1
                raw.append(
                    ("module", index, code, lasti, thread, key, training, grad, outer)
                )
                if len(raw) > log.most or log.watchful:
                    log.added(index)
            finally:
                release()
            place.module = index
        except Exception as error:
            part.failed(error)
            return original(module, *args, **kwargs)
        try:
            return original(module, *args, **kwargs)
        finally:
            place.module, place.site, place.forward = outer, around, outside
            left[index] = log.next_index

    part.call_code = call.__code__
    return call


def finder(part: ModulePart) -> Callable[[FrameType, Place], RawSite]:
    """Return what finds the line that calls a module, from a frame outwards."""
    users = part.log.user_files

    def find(frame: FrameType, place: Place) -> RawSite:
        around, outside, own = place.site, place.forward, part.call_code
        while True:
            code = frame.f_code
            if around is not None and (code is outside or code is own):
                return around  # nothing of the user's lies between
            if users[code.co_filename] or frame.f_back is None:
                return code, frame.f_lasti
            frame = frame.f_back

    return find


_KINDS = {
    "register_forward_pre_hook": "module_forward_pre",
    "register_forward_hook": "module_forward",
    "register_full_backward_pre_hook": "module_full_backward_pre",
    "register_full_backward_hook": "module_full_backward",
    "register_backward_hook": "module_backward",
}


@dataclass(frozen=True, slots=True)
class _Registration:
    """A hook of a module, and whether it is still on it: nothing tells of its end."""

    event: HookRegistered
    handle: Any

    def look(self) -> bool:
        """Note whether the hook is gone, and tell. With its module it never went."""
        table = self.handle.hooks_dict_ref()
        self.event.removed = table is not None and self.handle.id not in table
        return self.event.removed


class HookPart(Part):
    """Logs the registration of hooks on modules; ``hook`` counts down from -1."""

    subject = "Hooks of modules"
    modules: ModulePart

    def install(self) -> None:
        self.on = True
        self._count = 0
        # By what is registered where: the last one is looked at when the next comes.
        self._there: dict[object, list[_Registration]] = {}
        base = self.lib.nn.Module
        for name, kind in _KINDS.items():
            self.patches.set(base, name, self._wrap(getattr(base, name), kind))

    def _wrap(self, original: Anything, kind: str) -> Anything:
        @unseen
        @functools.wraps(original)
        def register(module: Any, hook: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            handle = original(module, hook, *args, **kwargs)
            if self.on:
                self.try_(self._registered, module, hook, kind, handle)
            self.modules.changed(module)
            return handle

        return register

    def _registered(self, module: Any, hook: Any, kind: str, handle: Any) -> None:
        log = self.log
        self._count += 1
        event = HookRegistered(
            index=0,
            site=log.site(),
            stack=log.stack(),
            thread=get_ident(),
            kind=kind,
            hook=-self._count,
            code=code_of(inspect.unwrap(hook)),
            target=self.modules.row(module).key,
        )
        log.append(event)
        there = self._there.setdefault((kind, event.target, event.code), [])
        while there and there[-1].look():
            there.pop()
        there.append(_Registration(event, handle))

    def remove(self) -> None:
        """Look at what is still there, and take the wrappers off."""
        for there in self._there.values():
            for each in there:
                each.look()
        super().remove()


def _count(parameter: Any) -> int:
    """Return the number of elements; a lazy parameter has none yet."""
    lazy = type(parameter).__name__.startswith("Uninitialized")
    return 0 if lazy else math.prod(parameter.shape)
