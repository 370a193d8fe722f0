"""Logs calls as most are: they made nodes, wrote nowhere and gave plain tensors.

What ``calls.py`` tells of any call is told here in one go, and nothing is asked that
such a call need not be: the user's program waits meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradviz._capture.adapters.pytorch.call_arguments import Open
from gradviz._capture.adapters.pytorch.graph.tensor_table import VERSION
from gradviz.program.noted import Noted

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext


def usual_of(log: TorchContext, told: list[Noted]) -> Callable[..., bool]:
    """Return what logs such a call; it tells whether the call was one.

    ``told`` are the notes whose nodes need no closer look.
    """
    autograd, plain = log.torch._C._autograd, log.torch.Tensor
    peek, packs = autograd._get_sequence_nr, autograd._top_saved_tensors_default_hooks
    born, watched = log.fresh_output, log.exports.watched
    ordinary = frozenset({plain})
    raw = log.program.raw
    acquire, release = log.lock.acquire, log.lock.release

    def usual(opened: Open, result: Any) -> bool:
        try:
            begun, met, first = opened
            last = peek()
            if last == first or watched or packs(True) is not None:
                return False
            several = type(result) is not plain
            if several and (
                type(result) not in (tuple, list)
                or not ordinary.issuperset(map(type, result))
            ):
                return False
            try:
                for tensor, before in met:
                    if tensor._version != before[VERSION]:
                        return False
            except RuntimeError:  # of inference mode: there is no version
                return False
            if last == first + 1:
                node, nodes = last, (last,)
            else:
                node, nodes = None, tuple(range(first + 1, last + 1))
            if several:
                outputs = tuple([born(each, begun, node) for each in result])
            else:
                outputs = (born(result, begun, node),)
            acquire()  # as Log.note() does, which would be another call
            try:
                index = log.next_index
                log.next_index = index + 1
                noted = "call", index, begun, outputs, nodes, (), None
                raw.append(noted)
                if len(raw) > log.most or log.watchful:
                    log.added(index)
            finally:
                release()
            told.append(noted)
            return True
        except Exception as error:
            log.stop(error)
            return True

    return usual
