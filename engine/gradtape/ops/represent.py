"""How tensors print: ``repr``, ``str`` and ``format``."""

from __future__ import annotations

from typing import Any

from .._backend import backend_of
from .._define import method
from .._mode import mode
from .._printing import tensor_str
from .._tensor import Tensor
from .formats import strided


@method("__repr__")
def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    tangent = None if mode.now.duals is None else mode.now.duals.tangent_of(self)
    return tensor_str(
        backend_of(self._data).to_host(self._data),
        self.dtype,
        requires_grad=self.requires_grad,
        grad_fn_name=_history(self),
        device=self.device,
        contents=tensor_contents,
        tangent=None if tangent is None else repr(tangent),
    )


def _history(self: Tensor) -> str | None:
    """Return the name of the ``grad_fn``, as PyTorch shows what has lost its own."""
    try:
        node = self.grad_fn
    except RuntimeError:
        return "Invalid"
    return None if node is None else node.name().rpartition("::")[2]


@method("__format__")
def _format(self: Tensor, spec: str) -> str:
    if self.dim() == 0 and not self.is_meta:
        return self.item().__format__(spec)
    return object.__format__(self, spec)


def _always(value: Any) -> property:
    return property(lambda self: value)


Tensor.layout = _always(strided)

# What PyTorch has kinds of and this engine has not.
Tensor.is_meta = Tensor.is_sparse = Tensor.is_quantized = _always(False)
Tensor.is_mkldnn = Tensor.is_nested = Tensor.is_xpu = Tensor.is_mps = _always(False)
Tensor.is_cpu = property(lambda self: not self.is_cuda)
