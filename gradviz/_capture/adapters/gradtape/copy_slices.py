"""What a write into a part of a tensor gives: the whole tensor, not the part."""

from __future__ import annotations

from gradtape._debug import Tensor
from gradviz._capture.adapters.gradtape.graph_walk import EngineReader
from gradviz._capture.adapters.gradtape.statistics import summary_of
from gradviz._capture.recorder.raw import RawNode, RawTensor

_SMALL = 65_536  # elements that are looked at again whenever a part was written


def whole_of(
    reader: EngineReader, node: RawNode, part: Tensor, values: bool
) -> RawTensor | None:
    """Return the tensor of which a node wrote a part; None for any other node."""
    base = part._base
    if node.name != "CopySlices" or base is None:
        return None
    whole = reader.tensor(base)
    if values and base.numel() <= max(_SMALL, 2 * part.numel()):
        whole.statistics = summary_of(base._data)
    return whole
