"""Anomaly mode's state, and who called: the frames above the line that made a node.

The line itself every node records always. The frames above it cost more, so they are
taken only in anomaly mode: once per call of the user's function, not once per node.
"""

from __future__ import annotations

import linecache
import sys
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import CodeType, FrameType
from typing import Any

from .._common.site import Site, internal_files, resolve
from .protocols import NodeLike

Sites = tuple[tuple[CodeType, int], ...]

_SUSPENDING = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_DEEPEST = 200
"""Frames kept of one stack, innermost first: a recursion is cut, a program is not."""


class Anomaly:
    """What anomaly mode does, for all threads, as in PyTorch."""

    __slots__ = ("check_forward", "check_nan", "enabled")

    def __init__(self) -> None:
        self.enabled = False
        self.check_nan = True
        self.check_forward = False


anomaly = Anomaly()


class Callers:
    """The frames above a line, innermost first, and the node that was running.

    While a function runs, the place where it was called does not change. So one record
    per call is enough, kept on the frame itself: ``f_trace``, which nobody uses while
    no debugger is on, dies with the frame and keeps nothing alive.
    """

    __slots__ = ("parent", "sites")

    def __init__(self, sites: Sites, parent: NodeLike | None = None) -> None:
        self.sites = sites
        self.parent = parent

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        """Do nothing, should a debugger start while a frame carries this record."""


def callers_of(frame: FrameType, parent: NodeLike | None) -> Callers:
    """Return who called the function that runs in ``frame``."""
    known: Any = frame.f_trace
    if type(known) is not Callers:
        known = Callers(_sites_above(frame))
        if (
            frame.f_trace is None
            and sys.gettrace() is None
            and not frame.f_code.co_flags & _SUSPENDING  # resumed from elsewhere
        ):
            frame.f_trace = known
    return known if parent is None else Callers(known.sites, parent)


def _sites_above(frame: FrameType) -> Sites:
    sites: list[tuple[CodeType, int]] = []
    above = frame.f_back
    while above is not None and len(sites) < _DEEPEST:
        code = above.f_code
        if not internal_files[code.co_filename]:
            sites.append((code, above.f_lasti))
        above = above.f_back
    return tuple(sites)


def stack_of(node: NodeLike) -> list[Site] | None:
    """Return the user's frames around a node's forward call, outermost first.

    None where anomaly mode was off then; the line itself is still ``node.site``.
    """
    callers = getattr(node, "callers", None)
    if callers is None or node.code is None:
        return None
    above = [resolve(*site) for site in reversed(callers.sites)]
    return [*above, resolve(node.code, node.lasti)]


def parent_of(node: NodeLike) -> Any:
    """Return the node whose backward made this one, if anomaly mode saw it."""
    callers = getattr(node, "callers", None)
    return None if callers is None else callers.parent


def frame_text(site: Site) -> str:
    """Return a frame as tracebacks show it."""
    source = linecache.getline(site.file, site.line).strip()
    text = f'  File "{site.file}", line {site.line}, in {site.function}\n'
    return text + (f"    {source}\n" if source else "")


def notes_of(node: NodeLike) -> dict[str, Any]:
    """Return what PyTorch's anomaly mode writes into a node's ``metadata``."""
    stack, parent = stack_of(node), parent_of(node)
    notes: dict[str, Any] = {}
    if stack is not None:
        notes["traceback_"] = [frame_text(site) for site in stack]
    if parent is not None:
        notes["parent_"] = parent
    return notes
