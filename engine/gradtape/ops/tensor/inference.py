"""Questions about inference tensors, and version counters set by hand."""

from __future__ import annotations

from collections.abc import Iterable

from ..._dispatch.declare import public
from ..._modes.grad_mode import inference_mode as inference_mode
from ..._modes.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from ..._storage.storage import InferenceStorage
from ..._tensor.tensor import Tensor


@public
def is_inference(input: Tensor) -> bool:
    """Tell whether a tensor was made in inference mode.

    >>> import gradtape as torch
    >>> with torch.inference_mode():
    ...     x = torch.ones(2)
    >>> torch.is_inference(x), torch.is_inference(x.clone())
    (True, False)
    """
    return input.is_inference()


def unsafe_set_version_counter(
    tensors: Tensor | Iterable[Tensor], versions: int | Iterable[int]
) -> None:
    """Set the version counters of tensors: what saved them cannot see writes since.

    Raises RuntimeError for inference tensors, which have none.
    """
    if isinstance(tensors, Tensor):
        tensors = (tensors,)
    if isinstance(versions, int):
        versions = (versions,)
    for tensor, version in zip(tensors, versions, strict=True):
        storage = tensor._storage
        if type(storage) is InferenceStorage:
            raise RuntimeError(
                "Tried to call torch.autograd._unsafe_set_version() on a tensor that "
                "does not have a version counter. Was it created in inference mode?"
            )
        if version < 0:
            raise RuntimeError(
                f"Cannot set a version_counter to a value below 0: {version}"
            )
        storage.version = version


class unsafe_preserve_version_counter:
    """Hide the writes of a block: afterwards the versions are what they were.

    >>> import gradtape as torch
    >>> x = torch.zeros(2)
    >>> with torch.autograd._unsafe_preserve_version_counter(x):
    ...     _ = x.add_(1)
    >>> x._version
    0
    """

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        self.versions = tuple(tensor._version for tensor in self.tensors)

    def __enter__(self) -> None:
        """Nothing changes yet."""

    def __exit__(self, *exc: object) -> None:
        unsafe_set_version_counter(self.tensors, self.versions)
