"""Files of the safetensors format, through the library of that name.

The functions are those of ``safetensors.torch``, with this package's tensors. Such a
file holds named tensors and nothing that could run.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._backend import backend_of
from ._dtypes import DTYPES, FLOAT8
from ._tensor.tensor import Tensor
from .nn import Module
from .ops.creation.from_data import share
from .ops.sparse.layout import is_sparse

__all__ = [
    "load",
    "load_file",
    "load_model",
    "safe_open",
    "save",
    "save_file",
    "save_model",
]

Path = str | os.PathLike[str]

_MISSING = (
    "Attempting to load a safetensors file but safetensors is not installed. Please "
    "install safetensors with: pip install safetensors"
)
_NOT_CONTIGUOUS = (
    "You are trying to save a non contiguous tensor: `{}` which is not allowed. It "
    "either means you are trying to save tensors which are reference of each other in "
    "which case it's recommended to save only the full tensors, and reslice at load "
    "time, or simply call `.contiguous()` on your tensor to pack it before saving."
)
_SHARED = (
    "Some tensors share memory, this will lead to duplicate memory on disk and "
    "potential differences when loading them again: {}. A potential way to correctly "
    "save your model is to use `save_model`. More information at "
    "https://huggingface.co/docs/safetensors/torch_shared_tensors"
)
_SPARSE = (
    "You are trying to save a sparse tensors: `{}` which this library does not "
    "support. You can make it a dense tensor before saving with `.to_dense()` but be "
    "aware this might make a much larger file than needed."
)


def save(
    tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None
) -> bytes:
    """Return the file of named tensors, as bytes.

    Raises ValueError for tensors that are not contiguous, RuntimeError for tensors that
    share memory.

    >>> import gradtape as torch
    >>> from gradtape import safetensors
    >>> safetensors.load(safetensors.save({"weight": torch.ones(2)}))
    {'weight': tensor([1., 1.])}
    """
    return _library().save(_arrays(tensors), metadata)


def save_file(
    tensors: Mapping[str, Tensor],
    filename: Path,
    metadata: dict[str, str] | None = None,
) -> None:
    """Write named tensors to a file. Raises what :func:`save` does."""
    _library().save_file(_arrays(tensors), filename, metadata)


def load(data: bytes) -> dict[str, Tensor]:
    """Return the named tensors of a file that was read into memory."""
    import safetensors

    found: dict[str, Tensor] = {}
    for name, record in safetensors.deserialize(data):
        array = _frombuffer(record["data"], record["dtype"])
        found[name] = share(array.reshape(record["shape"]))
    return found


def load_file(
    filename: Path, device: Any = "cpu", *, backend: str = "mmap"
) -> dict[str, Tensor]:
    """Return the named tensors of a file, on a device.

    >>> import gradtape as torch
    >>> from gradtape import safetensors
    >>> safetensors.save_file({"weight": torch.ones(2)}, "model.safetensors")
    >>> safetensors.load_file("model.safetensors")
    {'weight': tensor([1., 1.])}
    """
    with safe_open(filename, "pt", device) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


class safe_open:
    """Open a file to read some of its tensors, or parts of them.

    >>> import gradtape as torch
    >>> from gradtape import safetensors
    >>> safetensors.save_file({"weight": torch.arange(6.0)}, "part.safetensors")
    >>> with safetensors.safe_open("part.safetensors", framework="pt") as file:
    ...     file.keys(), file.get_slice("weight")[2:4]
    (['weight'], tensor([2., 3.]))
    """

    def __init__(
        self, filename: Path, framework: str = "pt", device: Any = "cpu"
    ) -> None:
        _library()
        import safetensors

        self._file: Any = safetensors.safe_open(filename, framework="numpy")
        self._device = device

    def __enter__(self) -> safe_open:
        self._file.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.__exit__(*exception)

    def keys(self) -> list[str]:
        """Return the names of the tensors."""
        return self._file.keys()

    def metadata(self) -> dict[str, str] | None:
        """Return the texts that were saved beside the tensors."""
        return self._file.metadata()

    def get_tensor(self, name: str) -> Tensor:
        """Return one tensor."""
        return _placed(self._file.get_tensor(name), self._device)

    def get_slice(self, name: str) -> _Slice:
        """Return one tensor as something to take parts of by indexing."""
        return _Slice(self._file.get_slice(name), self._device)


class _Slice:
    """A tensor in a file: indexing it reads a part."""

    def __init__(self, lazy: Any, device: Any) -> None:
        self._lazy = lazy
        self._device = device

    def __getitem__(self, index: Any) -> Tensor:
        return _placed(self._lazy[index], self._device)

    def get_shape(self) -> list[int]:
        """Return the sizes of the whole tensor."""
        return self._lazy.get_shape()

    def get_dtype(self) -> str:
        """Return the format's name of the dtype: ``F32``."""
        return self._lazy.get_dtype()


def save_model(
    model: Module,
    filename: Path,
    metadata: dict[str, str] | None = None,
    force_contiguous: bool = True,
) -> None:
    """Write a module's state; of tensors that share memory one is kept.

    Raises RuntimeError where none of them covers the memory.
    """
    state = dict(model.state_dict())
    notes = dict(metadata or {})
    for kept, dropped in _duplicates(state).items():
        for name in dropped:
            notes.setdefault(name, kept)
            del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    save_file(state, filename, notes or None)


def load_model(
    model: Module,
    filename: Path,
    strict: bool = True,
    device: Any = "cpu",
    *,
    backend: str = "mmap",
) -> tuple[set[str], list[str]]:
    """Load a file into a module; return the names that found no partner.

    With ``strict`` such names raise RuntimeError.
    """
    state = load_file(filename, device)
    duplicates = _duplicates(dict(model.state_dict()), state)
    keys = model.load_state_dict(state, strict=False)
    missing, unexpected = set(keys[0]), list(keys[1])
    for names in duplicates.values():
        unexpected += [name for name in names if name not in missing]
        missing.difference_update(names)
    if strict and (missing or unexpected):
        text = f"Error(s) in loading state_dict for {type(model).__name__}:"
        for kind, names in (("Missing", missing), ("Unexpected", unexpected)):
            if names:
                listed = ", ".join(f'"{name}"' for name in sorted(names))
                text += f"\n    {kind} key(s) in state_dict: {listed}"
        raise RuntimeError(text)
    return missing, unexpected


# ---- parts ----


def _library() -> Any:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise RuntimeError(_MISSING) from error
    return safetensors.numpy


def _arrays(tensors: Any) -> dict[str, Any]:
    """Return the NumPy arrays of named tensors that may be saved together."""
    if not isinstance(tensors, Mapping):
        raise ValueError(
            f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}"
        )
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"Key `{name}` is invalid, expected torch.Tensor but received "
                f"{type(tensor)}"
            )
    sparse = [name for name, tensor in tensors.items() if is_sparse(tensor)]
    if sparse:
        raise ValueError(_SPARSE.format(sparse))
    shared = [set(names) for names in _sharing(tensors) if len(names) > 1]
    if shared:
        raise RuntimeError(_SHARED.format(shared))
    for name, tensor in tensors.items():
        if not tensor._data.flags.c_contiguous:
            raise ValueError(_NOT_CONTIGUOUS.format(name))
    return {
        name: backend_of(tensor._data).to_host(tensor._data)
        for name, tensor in tensors.items()
    }


def _sharing(tensors: Mapping[str, Tensor]) -> Iterable[list[str]]:
    """Return the names of the tensors, those together that share memory."""
    groups: defaultdict[int, list[str]] = defaultdict(list)
    for name, tensor in tensors.items():
        memory = tensor._storage
        groups[memory.pointer if memory.nbytes() else -id(tensor)].append(name)
    return groups.values()


def _duplicates(
    state: dict[str, Tensor], preferred: Iterable[str] = ()
) -> dict[str, list[str]]:
    """Return which names to drop in favour of which, among those that share memory."""
    found: dict[str, list[str]] = {}
    for names in _sharing(state):
        if len(names) < 2:
            continue
        whole = {name for name in names if _covers(state[name])}
        if not whole:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but "
                f"found no suitable name to keep for saving amongst: {set(names)}. "
                "None is covering the entire storage."
            )
        kept = min(whole.intersection(preferred) or whole)
        found[kept] = sorted(set(names) - {kept})
    return found


def _covers(tensor: Tensor) -> bool:
    return tensor._data.nbytes == tensor._storage.nbytes()


def _placed(array: Any, device: Any) -> Tensor:
    where = f"cuda:{device}" if isinstance(device, int) else device
    return share(array).to(device=where)  # type: ignore[attr-defined]


_KINDS = {
    "bfloat": "BF",
    "bool": "BOOL",
    "complex": "C",
    "float": "F",
    "int": "I",
    "uint": "U",
}


def _format_name(dtype_name: str) -> str:
    """Return the format's name of a dtype: F32 for float32."""
    kind = dtype_name.rstrip("0123456789")
    return _KINDS[kind] + dtype_name.removeprefix(kind)


_DTYPES = {
    _format_name(name): dtype for name, dtype in DTYPES.items() if dtype not in FLOAT8
}


def _frombuffer(data: Any, name: str) -> Any:
    if name not in _DTYPES:
        raise RuntimeError(f"the dtype {name} is not supported here")
    return np.frombuffer(data, _DTYPES[name].numpy)
