"""Logs calls as most are: they made nodes, wrote nowhere and gave one plain tensor.

What ``calls.py`` tells of any call is told here in one go, and nothing is asked that
such a call need not be: the user's program waits meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradviz._capture.pytorch.opened import Met
from gradviz._capture.pytorch.tables import VERSION

if TYPE_CHECKING:
    from gradviz._capture.pytorch.log import TorchLog


def usual_of(log: TorchLog) -> Callable[..., bool]:
    """Return what logs such a call; it tells whether the call was one."""
    autograd, plain = log.torch._C._autograd, log.torch.Tensor
    peek, packs = autograd._get_sequence_nr, autograd._top_saved_tensors_default_hooks
    transforms = log.torch._C._are_functorch_transforms_active
    born, watched = log.values.born, log.exports.watched
    raw, lock, graph = log.program.raw, log.lock, log.graph
    makers, need_no_look = graph.makers, graph.ahead.made

    def usual(begun: tuple[Any, ...], met: Met, first: int, result: Any) -> bool:
        try:
            last = peek()
            if (
                last == first
                or type(result) is not plain
                or not log.brief
                or watched
                or transforms()
                or packs(True) is not None
            ):
                return False
            try:
                for tensor, before in met:
                    if tensor._version != before[VERSION]:
                        return False
            except RuntimeError:  # of inference mode: there is no version
                return False
            begin = first + 1
            if last == begin:
                nodes, outputs = (last,), (born(result, begun[5], last),)
            else:
                nodes = tuple(range(begin, last + 1))
                outputs = (born(result, begun[5], None),)
            with lock:  # as Log.note() does, which would be another call
                index = log.next_index
                log.next_index = index + 1
                raw.append(("call", index, begun, outputs, nodes, (), None))
                if len(raw) > log.most or log.watchful:
                    log.added(index)
            if last == begin:
                makers[last] = index
            else:
                makers.update(dict.fromkeys(nodes, index))
            need_no_look(begin, last)
            return True
        except Exception as error:
            log.stop(error)
            return True

    return usual
