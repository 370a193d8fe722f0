"""How tensors print: ``repr``, ``str`` and ``format``."""

from __future__ import annotations

from typing import Any

from ..._backend import VALUELESS, backend_of
from ..._dispatch.declare import method
from ..._modes.grad_mode import mode
from ..._sparse.array import SparseArray
from ..._tensor.printing import add_suffixes, contents_str, is_default, tensor_str
from ..._tensor.tensor import Tensor, plain_types

_PACKAGE = __name__.partition(".")[0]


@method("__repr__")
def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    if type(self._data) is SparseArray:
        return _sparse_repr(self)
    tangent = None if mode.now.duals is None else mode.now.duals.tangent_of(self)
    valueless = type(self._data) in VALUELESS
    # Parameter writes its own start.
    kind = type(self)
    plain = kind in plain_types and kind.__module__.startswith(_PACKAGE)
    shown = tensor_str(
        None if valueless else backend_of(self._data).to_host(self._data),
        self.dtype,
        size=self._data.shape,
        requires_grad=self.requires_grad,
        grad_fn_name=_history(self),
        device=self.device,
        contents=tensor_contents,
        tangent=None if tangent is None else repr(tangent),
        prefix="tensor(" if plain else f"{kind.__name__}(",
    )
    is_parameter = kind in plain_types or getattr(self, "_is_param", False)
    return f"Parameter({shown})" if is_parameter and not plain else shown


def _sparse_repr(self: Tensor) -> str:
    """Show coordinates and values, each in its own brackets."""
    data: SparseArray = self._data
    parts: list[str] = []
    for name, array in (("indices", data.indices), ("values", data.values)):
        prefix = f"{name}=tensor("
        shown = contents_str(array, len("tensor(") + len(prefix))
        size = f", size={array.shape}" if not array.size else ""
        parts.append(f"{prefix}{shown}{size})")
    facts = [f"size={data.shape}", f"nnz={data.indices.shape[1]}"]
    if not is_default(self.dtype):
        facts.append(f"dtype={self.dtype}")
    facts.append("layout=torch.sparse_coo")
    history = _history(self)
    if history is not None:
        facts.append(f"grad_fn=<{history}>")
    elif self.requires_grad:
        facts.append("requires_grad=True")
    text = ",\n       ".join(parts)
    return add_suffixes(f"tensor({text}", facts, len("tensor("), force_newline=True)


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


# What PyTorch has kinds of and this engine has not.
Tensor.is_quantized = _always(False)
Tensor.is_mkldnn = Tensor.is_nested = Tensor.is_xpu = Tensor.is_mps = _always(False)
Tensor.is_sparse_csr = _always(False)
