"""Logs calls as most are: they made nodes, wrote nowhere and gave plain tensors.

What ``calls.py`` tells of any call is recent here in one go, and nothing is asked that
such a call need not be: the user's program waits meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradviz._capture.adapters.pytorch.call_arguments import OpenCall
from gradviz._capture.adapters.pytorch.graph.tensor_table import VERSION
from gradviz.program.noted import Noted

if TYPE_CHECKING:
    from gradviz._capture.adapters.pytorch.context import TorchContext


def fast_path_of(log: TorchContext, recent: list[Noted]) -> Callable[..., bool]:
    """Return what logs such a call; it tells whether the call was one.

    ``recent`` are the notes whose nodes need no closer look.
    """
    autograd, plain = log.torch._C._autograd, log.torch.Tensor
    peek, packs = autograd._get_sequence_nr, autograd._top_saved_tensors_default_hooks
    describe, watched = log.fresh_output, log.exports.watched
    touches = log.exports.touches
    check = log.nonfinite.of_results
    ordinary = frozenset({plain})
    raw = log.program.raw
    acquire, release = log.lock.acquire, log.lock.release

    def log_call(open_call: OpenCall, result: Any) -> bool:
        try:
            header, met, first = open_call
            last = peek()
            if last == first or packs(True) is not None:
                return False
            if watched and touches(header[5]):
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
                outputs = tuple([describe(each, header, node) for each in result])
            else:
                outputs = (describe(result, header, node),)
            acquire()  # as Log.note() does, which would be another call
            try:
                index = log.next_index
                log.next_index = index + 1
                noted = "call", index, header, outputs, nodes, (), None
                raw.append(noted)
                if len(raw) > log.most or log.watchful:
                    log.added(index)
            finally:
                release()
            recent.append(noted)
            check(noted, result)
            return True
        except Exception as error:
            log.stop(error)
            return True

    return log_call
