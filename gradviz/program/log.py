"""Where producers write: numbers events, knows identities and the user's frames."""

from __future__ import annotations

import os
import sys
import sysconfig
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Any

from gradviz.program.events import Call, Event
from gradviz.program.noted import Glance
from gradviz.program.records import Program, TensorFacts
from gradviz.program.step_size import StepSize
from gradviz.program.values import RawSite, Value

MAX_EVENTS = 100_000
"""Older events are dropped beyond this many; tables of live things stay."""

MOST_WITHOUT_VALUES = 20_000
"""The same where nobody looks at values: a log that may run for days."""

MOST_GONE = 5_000
"""Modules, and optimizers, and Functions that are gone and still in their tables."""

_FIRST_PRUNED = 250  # identities, before those of the dead go

_DEEPEST = 32  # user frames kept of one stack


class Identities:
    """Numbers objects, each once, without keeping them alive.

    >>> class Thing: pass
    >>> numbers, thing = Identities(), Thing()
    >>> numbers.of(thing) == numbers.of(thing)
    True
    """

    def __init__(self) -> None:
        # By id: a reference, the number, and what owners of a table keep beside them.
        self.rows: dict[int, tuple[Any, ...]] = {}
        self.count = 0
        self.room = _FIRST_PRUNED

    def of(self, thing: Any) -> int:
        """Return the number of an object; a new one on first sight."""
        rows, key = self.rows, id(thing)
        known = rows.get(key)
        if known is not None and known[0]() is thing:
            return known[1]
        self.count = count = self.count + 1
        # No callback: it would run at every death, where a look now and then will do.
        rows[key] = weakref.ref(thing), count
        if len(rows) > self.room:
            self.prune()
        return count

    def give(self, thing: Any, number: int) -> None:
        """Number an object that has none yet by one that was set aside for it."""
        if self.known(thing) is None:
            self.rows[id(thing)] = weakref.ref(thing), number

    def let_go(self, thing: Any) -> int | None:
        """Refer to an object no more; return the number it had."""
        number = self.known(thing)
        self.rows.pop(id(thing), None)
        return number

    def prune(self) -> None:
        """Forget the objects that are gone."""
        rows = self.rows
        for key, row in [each for each in list(rows.items()) if each[1][0]() is None]:
            if rows.get(key) is row:  # no other thread has a new object there
                del rows[key]
        self.room = max(_FIRST_PRUNED, 2 * len(rows))

    def known(self, thing: Any) -> int | None:
        """Return the number of an object that has one."""
        known = self.rows.get(id(thing))
        return None if known is None or known[0]() is not thing else known[1]

    def alive(self) -> Iterator[tuple[int, Any]]:
        """Yield number and object of everything that still lives."""
        for row in list(self.rows.values()):
            thing = row[0]()
            if thing is not None:
                yield row[1], thing


class Gone:
    """Keys of rows whose objects are gone; the first are let go beyond a number.

    >>> gone = Gone(2)
    >>> [gone.add(key) for key in (7, 8, 9)]
    [None, None, None]
    >>> list(gone.too_many()), list(gone.too_many())
    ([7], [])
    """

    def __init__(self, most: int) -> None:
        self._most, self._keys = most, deque[int]()

    def add(self, key: int) -> None:
        """Learn that an object is gone; whoever collects garbage may say so."""
        self._keys.append(key)

    def too_many(self) -> Iterator[int]:
        """Yield those whose rows are to be forgotten, each once."""
        while len(self._keys) > self._most:
            yield self._keys.popleft()


class UserFiles(dict[str, bool]):
    """File name -> does a frame of it belong to the user? Filled on first sight."""

    def __init__(self) -> None:
        super().__init__()
        self.hosts = set[str]()  # those that run a notebook's cells, or tests

    def __missing__(self, file: str) -> bool:
        demo = file.startswith(_DEMO)  # wherever gradviz is installed
        theirs = self[file] = demo or not file.startswith(_not_the_users())
        if is_host_file(file):
            self.hosts.add(file)
        return theirs


_HOSTS = tuple(
    f"{os.sep}{name}{os.sep}" for name in ("IPython", "ipykernel", "marimo", "_pytest")
)


def is_host_file(file: str) -> bool:
    """Tell whether a frame of this file runs the user's cell, or the user's test."""
    return any(folder in file for folder in _HOSTS)


# Engines, and what runs cells or tests: their variables are nobody's names.
_RUNNERS = (
    *("torch", "gradtape", "IPython", "ipykernel", "tornado", "traitlets"),
    *("_pytest", "pluggy"),
)


_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_DEMO = os.path.join(_PACKAGE, "demo") + os.sep
_NOT_THE_USERS = (
    *(sysconfig.get_path("stdlib") + os.sep, _PACKAGE),
    *("<frozen", "<gradtape", "<gradviz", "<string>"),
)


def is_own_file(file: str) -> bool:
    """Tell whether a frame of this file belongs to gradviz itself.

    The demo is a user's program as far as the view is concerned.
    """
    return file.startswith(_PACKAGE) and not file.startswith(_DEMO)


def _not_the_users() -> tuple[str, ...]:
    loaded = [getattr(sys.modules.get(name), "__path__", []) for name in _RUNNERS]
    return (*_NOT_THE_USERS, *(path + os.sep for paths in loaded for path in paths))


class Log:
    """The program log while it grows. All producers of one run share one."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.tensors = Identities()
        self.lock = program.lock
        self.user_files = UserFiles()
        self.muted = 0
        self.next_index = 0  # what the next event will get
        self.most = MAX_EVENTS  # that are kept
        self.size = StepSize(program.notes)
        self.watchful: Any = False  # true while each event is something to look at
        self.looks = program.scanned  # at values; a log may do so now and then
        self.skims = False  # what was told often enough is passed over now
        self.unasked: Callable[[], AbstractContextManager[Any]] = nullcontext
        """Lets tensors be looked at without a class or mode of the program noticing."""

    # ---- events -------------------------------------------------------------------

    def pause(self) -> None:
        """Let tensor calls pass unseen until :meth:`resume`; pauses may nest.

        For what we compute ourselves, and for library code that one event stands for.
        Engines look at ``muted``, or leave the way of the calls altogether.
        """
        self.muted += 1

    def resume(self) -> None:
        """End the last :meth:`pause`."""
        self.muted -= 1

    def take_index(self) -> int:
        """Reserve the index of an event that is about to be added."""
        index = self.next_index
        self.next_index += 1
        return index

    def add(self, event: Event) -> None:
        """Append an event that has its index."""
        self.program.raw.append(event)
        self.added(event.index)

    def append(self, event: Event) -> int:
        """Number an event and append it in one go; return its index."""
        with self.lock:
            event.index = index = self.next_index
            self.next_index = index + 1
            self.add(event)
        return index

    def note(self, kind: str, *rest: Any) -> int:
        """Append an event in short, see :mod:`gradviz.program.noted`; return its index.

        What waits for the user's program is this; everything else can come later.
        """
        raw = self.program.raw
        lock = self.lock
        lock.acquire()  # twice as fast as ``with``
        try:
            index = self.next_index
            self.next_index = index + 1
            raw.append((kind, index) + rest)  # noqa: RUF005 - twice as fast
            if len(raw) > self.most or self.watchful:
                self.added(index)
        finally:
            lock.release()
        return index

    def added(self, index: int) -> None:
        """Drop the oldest half of the events when there are too many."""
        if len(self.program.raw) > self.most:
            self.program.drop(self.most // 2)

    def forget_facts(self) -> None:
        """Forget what is known of tensors that are gone, where that is much."""
        facts = self.program.tensors
        if len(facts) > self.most:
            living = {number for number, _ in self.tensors.alive()}
            self.program.taught &= living
            for key in list(facts)[: -self.most // 2]:
                if key not in living:
                    del facts[key]

    def made(self, call: Call) -> None:
        """Learn that a call made the nodes it lists; for engines that keep a table."""

    def tensor(self, tensor: Any) -> int:
        """Return the number of a tensor, and open its row of facts."""
        key = self.tensors.of(tensor)
        if key not in self.program.tensors:
            self.program.tensors[key] = TensorFacts()
        return key

    def value(self, tensor: Any) -> Value:
        """Describe a tensor as it is now; each engine has its own way."""
        raise NotImplementedError

    def glance(self, tensor: Any) -> Glance | Value:
        """Describe a tensor in short, where an engine has a way to."""
        return self.value(tensor)

    def node_key(self, node: Any) -> int | None:
        """Return the key of a backward function; each engine has its own way."""
        return None

    def gradients(self, params: list[Any]) -> tuple[list[bool], list[bool]]:
        """Tell which tensors have a gradient, and which ask for one."""
        has = [param.grad is not None for param in params]
        return has, [param.requires_grad for param in params]

    def unheard(self) -> AbstractContextManager[Any]:
        """Let something be computed without graph, and without the program noticing."""
        raise NotImplementedError

    def is_opaque(self, tensor: Any) -> bool:
        """Tell whether what a tensor holds is known to its class alone."""
        return False

    def versions(self, params: list[Any]) -> list[int]:
        """Return how often the memory of tensors was written."""
        return [param._version for param in params]

    # ---- the user's frames ----------------------------------------------------------

    def frame(self) -> FrameType | None:
        """Return the innermost frame of the user."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not self.user_files[frame.f_code.co_filename]:
            frame = frame.f_back
        return frame

    def site(self) -> RawSite | None:
        """Return code and instruction of the innermost frame of the user."""
        users = self.user_files
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if users[code.co_filename]:
                return code, frame.f_lasti
            frame = frame.f_back
        return None

    def stack(self) -> tuple[RawSite, ...]:
        """Return the user's frames around the innermost one, innermost first."""
        frame = self.frame()
        return () if frame is None else self.outside(frame)

    def outside(self, frame: FrameType) -> tuple[RawSite, ...]:
        """Return the user's frames around this one, innermost first."""
        users, sites = self.user_files, list[RawSite]()
        outer = frame.f_back
        while outer is not None and len(sites) < _DEEPEST:
            code = outer.f_code
            if users[code.co_filename]:
                sites.append((code, outer.f_lasti))
            elif code.co_filename in users.hosts:
                break  # what is around it started the notebook, or the tests
            outer = outer.f_back
        return tuple(sites)
