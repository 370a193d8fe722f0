"""Names for memory formats and layouts, which PyTorch's signatures ask for.

Tensors are strided or sparse_coo; images keep the order they are given in.
"""

from __future__ import annotations

from typing import Any, Final


class Named:
    """A value that is nothing but its name."""

    __module__ = "gradtape"
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class memory_format(Named):
    """An order of the dimensions in memory."""

    __module__ = "gradtape"
    __slots__ = ()


class layout(Named):
    """A way to store tensors."""

    __module__ = "gradtape"
    __slots__ = ()

    def __reduce__(self) -> Any:
        return _get_layout, (repr(self),)


contiguous_format: Final = memory_format("contiguous_format")
preserve_format: Final = memory_format("preserve_format")
channels_last: Final = memory_format("channels_last")
channels_last_3d: Final = memory_format("channels_last_3d")
strided: Final = layout("strided")
sparse_coo: Final = layout("sparse_coo")

# No tensor has these; programs ask whether one does.
_mkldnn: Final = layout("_mkldnn")
sparse_bsc: Final = layout("sparse_bsc")
sparse_bsr: Final = layout("sparse_bsr")
sparse_csc: Final = layout("sparse_csc")
sparse_csr: Final = layout("sparse_csr")

_LAYOUTS = {repr(each): each for each in (strided, sparse_coo)}


def check_layout(given: Any) -> None:
    """Refuse a layout that no tensor has."""
    if isinstance(given, layout):
        _get_layout(repr(given))


def _get_layout(name: str) -> layout:
    """Return the layout with a printed name; files call this by its name."""
    if name not in _LAYOUTS:
        raise RuntimeError(f"tensors with the layout {name} are not supported here")
    return _LAYOUTS[name]
