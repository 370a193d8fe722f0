"""What all parts of the loop log share: guarded wrappers, and where a thread is."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeAlias

from gradviz._capture.names.tensors import grad_fn_of
from gradviz.program.events import Call
from gradviz.program.values import Opaque, RawSite, Value

if TYPE_CHECKING:
    from gradviz._capture.context import LogContext

Anything: TypeAlias = Callable[..., Any]


UNSEEN = "<gradviz wrapper, passed over like importlib._bootstrap>"
"""File name of our wrappers.

Python's warnings count no frames of files that are named like the import machinery, so
a library's warning still names the user's line; logs take no such frame for the user's.
"""


def unseen(wrapper: Anything) -> Anything:
    """Hide a wrapper's frame from warnings that name the line of a caller."""
    code = wrapper.__code__.replace(co_filename=UNSEEN)  # type: ignore[attr-defined]
    wrapper.__code__ = code  # type: ignore[attr-defined]
    return wrapper


class Place:
    """Where a thread is: indexes of the events it is inside of, or None."""

    __slots__ = (
        *("applying", "changed", "checking", "clipping", "dirty", "forward", "module"),
        *("running", "scheduling", "site", "stepping", "switching", "thread", "within"),
    )

    def __init__(self) -> None:
        self.module: int | None = None  # the innermost ModuleCall
        self.site: RawSite | None = None  # and the user's line that made it
        self.forward: CodeType | None = None  # of its forward, where a library wrote it
        self.within: int | None = None  # the innermost apply, gradcheck or checkpoint
        self.stepping: int | None = None  # the OptimizerCall whose step is running
        self.running: list[tuple[Any, bool]] = []  # steps that hooks tell of: what
        # the end of each needs, and whether the log is paused meanwhile
        self.switching = False  # inside train()
        self.changed: list[int] = []  # modules that it switched so far
        self.scheduling = False  # inside the step of a scheduler, or its making
        self.clipping = False
        self.checking = False  # inside gradcheck
        self.applying: Any = None  # the class whose apply runs, innermost
        self.dirty: list[Any] = []  # what its forward said it wrote into
        self.thread = threading.get_ident()


class Here(threading.local):
    """The place of the current thread; each look at a thread-local costs."""

    def __init__(self) -> None:
        self.now = Place()


class Patches:
    """Attributes replaced and hooks put on for a while, and then as they were."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, bool, Any, Any]] = []
        self._handles: list[Any] = []  # of hooks

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Set ``owner.name``; :meth:`restore` puts back what was there."""
        own = vars(owner)
        self._replaced.append((owner, name, name in own, own.get(name), value))
        setattr(owner, name, value)

    def hook(self, register: Anything, hook: Anything) -> None:
        """Register a hook; :meth:`restore` takes it off."""
        self._handles.append(register(hook))

    def restore(self) -> None:
        """Put everything back, except what others have replaced since."""
        while self._handles:
            self._handles.pop().remove()
        while self._replaced:
            owner, name, had, before, ours = self._replaced.pop()
            if vars(owner).get(name) is not ours:
                continue
            if had:
                setattr(owner, name, before)
            else:
                delattr(owner, name)


def wrap_warnings(patches: Patches, wrap: Callable[[Anything], Anything]) -> None:
    """Replace what every warning comes by that filters let through.

    Python says of it "replace if you like", and ``catch_warnings`` leaves it alone.
    """
    show = getattr(warnings, _SHOW, None)
    if show is not None:
        patches.set(warnings, _SHOW, wrap(show))


_SHOW = "_showwarnmsg"


class Part:
    """One part of the loop log. What fails in it is noted and ends it, nothing else."""

    subject = ""  # of the note: "Optimizers"

    def __init__(self, lib: Any, log: LogContext, here: Here) -> None:
        self.lib = lib
        self.log = log
        self.here = here
        self.on = False
        self.scan = log.program.scanned
        self.patches = Patches()

    def install(self) -> None:
        """Put the wrappers of this part in place."""
        raise NotImplementedError

    def remove(self) -> None:
        """Take them off again; a wrapper that someone still holds passes through."""
        self.on = False
        self.patches.restore()

    def failed(self, error: Exception) -> None:
        """Stop this part and say so in the notes: never raise into the user's code."""
        self.on = False
        self.log.program.notes.append(
            f"{self.subject} were not followed to the end: "
            f"{type(error).__name__}: {error}"
        )

    def begun(
        self,
        op: str,
        inputs: tuple[Value, ...],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Call:
        """Add the event of a call that is about to run, for what is learned later."""
        log, now = self.log, self.here.now
        call = Call(
            index=0,
            site=log.site(),
            stack=log.stack(),
            thread=now.thread,
            op=op,
            inputs=inputs,
            arguments=arguments,
            keywords=keywords,
            grad_enabled=self.lib.is_grad_enabled(),
            module=now.module,
            within=now.within,
        )
        log.append(call)
        return call

    def try_(self, function: Anything, *args: Any) -> Any:
        """Call a function of ours; what it raises stops the part."""
        if not self.on:
            return None
        try:
            with self.log.unasked():
                return function(*args)
        except Exception as error:
            self.failed(error)
            return None


def described(value: Any, lib: Any, log: LogContext, depth: int = 2) -> Any:
    """Return an argument as records hold it: a Value, a plain value or an Opaque."""
    if isinstance(value, lib.Tensor):
        return log.value(value)
    if value is None or type(value) in _PLAIN:
        return value
    if depth and type(value) in (list, tuple):
        each = [described(inner, lib, log, depth - 1) for inner in value[:_ITEMS]]
        return type(value)(each)
    return Opaque.of(value)


_PLAIN = (bool, int, float, complex, str)
_ITEMS = 64


def log_library_function(lib: Any, log: LogContext, cls: Any, result: Any) -> None:
    """Log which line of the user's made the node of a Function that a library wrote."""
    for each in result if isinstance(result, tuple) else (result,):
        node = grad_fn_of(each) if isinstance(each, lib.Tensor) else None
        key = log.node_key(node) if node is not None else None
        if key is not None and getattr(type(node), "_forward_cls", None) is cls:
            call = Call(index=0, site=log.site(), op=cls.__name__, nodes=(key,))
            log.append(call)
            log.made(call)
            return
