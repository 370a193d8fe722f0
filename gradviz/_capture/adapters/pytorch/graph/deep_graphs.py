"""Lets a deep graph that Python has walked be freed without overflowing the stack.

PyTorch frees nodes in a loop, but one inside the other where they have Python objects,
which they keep once somebody has asked for them: a chain of 50,000 walked nodes takes
the whole process down when it goes. So every so many nodes one is held by a link, and
the link by those who use that node. When the last of them goes, the link hands the node
to a thread, which frees what is behind it from a fresh stack.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

_DEEPEST = 5_000  # nodes freed one inside the other; each takes some 200 bytes of stack

_KEY = "gradviz_links"  # in the metadata of a node, where anomaly mode puts its own

_waiting: deque[Any] = deque()  # nodes to be freed
_freeing = threading.Lock()


class _Link:
    """Holds a node for as long as nodes that use it live."""

    __slots__ = ("node",)

    def __init__(self, node: Any) -> None:
        self.node = node

    def __del__(self) -> None:
        _waiting.append(self.node)
        del self.node
        if not sys.is_finalizing() and not _freeing.locked():
            # Python waits for it at the end: PyTorch aborts where a thread is cut off.
            threading.Thread(target=_free, name="gradviz-free", daemon=False).start()


def make_freeable(made: Sequence[Any], depths: dict[Any, int]) -> None:
    """See to it that nodes, oldest first, can be freed however deep they lie.

    ``depths`` has a number for each node, and is filled with others.
    """
    links: dict[Any, _Link] = {}
    for fn in made:
        depth, held = 0, None
        for behind, _ in fn.next_functions:
            if behind is None:
                continue
            link = links.get(behind) if links else None
            if link is None:
                depth = max(depth, depths.get(behind, 0))
            else:
                held = [link] if held is None else [*held, link]
        if held is not None:
            fn.metadata[_KEY] = held
        if depth >= _DEEPEST:
            links[fn], depth = _Link(fn), -1
        depths[fn] = depth + 1


def _free() -> None:
    """Free the nodes that wait, and those that come to wait because of it."""
    while _waiting:
        with _freeing:
            while _waiting:
                _waiting.popleft()
