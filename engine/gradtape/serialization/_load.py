"""``load``: read what ``save`` wrote, here or in PyTorch."""

from __future__ import annotations

import mmap as os_mmap
import os
import pickle
import warnings
from typing import Any

from .._backend.device import device as Device
from ..utils.serialization import config
from ._archive import load_archive
from ._legacy_load import legacy_load
from ._location import MAP_LOCATION
from ._options import check_dill
from ._refusals import UNSAFE, BrokenPickleError, advised
from ._safe_unpickler import Reading
from ._zip_reader import ZipReader, is_zip

_TRUE = ("1", "y", "yes", "true")
_BOTH_FORCED = (
    "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
    "should be set, but both were set."
)
_FORCED = (
    "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the"
    "`weights_only` argument was not explicitly passed to `torch.load`, forcing "
    "weights_only=False."
)
_SEEKABLE = (
    "{}. You can only torch.load from a file that is seekable. Please pre-load the "
    "data into a buffer like io.BytesIO and try to load from it instead."
)
_TORCHSCRIPT = (
    "Cannot use ``weights_only=True`` with TorchScript archives passed to "
    f"``torch.load``. {UNSAFE}"
)
_MMAP_FORMAT = (
    "mmap can only be used with files saved with `torch.save({}"
    "_use_new_zipfile_serialization=True), please torch.save your checkpoint with this "
    "option in order to use mmap."
)


def load(
    f: Any,
    map_location: MAP_LOCATION = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object and its tensors from a file, given by path or open for bytes.

    By default a file may only hold tensors, numbers, text and plain containers: nothing
    in it is run. ``weights_only=False`` lets the file run any code; do so for files you
    trust. ``map_location`` says where the tensors go: a device, a dict from saved to
    wanted locations, or a function of storage and location. With ``mmap=True`` a file
    stays on disk until its tensors are read.

    Raises pickle.UnpicklingError for what a file may not hold, and RuntimeError for a
    file that is broken.

    >>> import gradtape as torch
    >>> torch.save({"weight": torch.ones(2)}, "model.pt")
    >>> torch.load("model.pt", map_location="cpu")
    {'weight': tensor([1., 1.])}
    """
    weights_only = _is_safe(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified"
        )
    if weights_only and pickle_load_args:
        warnings.warn(
            "pickle_load_args only works if `weights_only=False`.", stacklevel=2
        )
    check_dill(pickle_module)
    if isinstance(f, str | os.PathLike) and os.fspath(f).endswith(".safetensors"):
        return _load_safetensors(os.fspath(f), map_location)
    module = None if weights_only else pickle_module or pickle
    reading = Reading(map_location, module, {"encoding": "utf-8", **pickle_load_args})
    mapped = config.load.mmap if mmap is None else mmap
    try:
        return _load(f, reading, mapped)
    except BrokenPickleError:
        raise
    except pickle.UnpicklingError as error:
        if not weights_only:
            raise
        raise pickle.UnpicklingError(advised(str(error))) from None


def _is_safe(weights_only: bool | None, pickle_module: Any) -> bool:
    """Decide between the safe and the full unpickler: argument, then environment."""
    force = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    forbid = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    if force and forbid:
        raise RuntimeError(_BOTH_FORCED)
    if force:
        return True
    if weights_only is not None:
        return weights_only
    if forbid:
        warnings.warn(_FORCED, UserWarning, stacklevel=3)
        return False
    return pickle_module is None


def _load(f: Any, reading: Reading, mapped: bool) -> Any:
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return _load_file(file, reading, os.fspath(f) if mapped else None, f)
    _check_seekable(f)
    if mapped and is_zip(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    return _load_file(f, reading, "" if mapped else None, f)


def _load_file(file: Any, reading: Reading, mapped: str | None, f: Any) -> Any:
    if not is_zip(file):
        if mapped is not None:
            shown = f"{f}, " if isinstance(f, str) else ""
            raise RuntimeError(_MMAP_FORMAT.format(shown))
        return legacy_load(file, reading)
    archive = ZipReader(file, config.save.compute_crc32)
    if "constants.pkl" in archive:
        if reading.module is None:
            raise RuntimeError(_TORCHSCRIPT)
        raise RuntimeError(
            "This file is a TorchScript archive; gradtape has no TorchScript. Load it "
            "with torch.jit.load in PyTorch and save its state_dict() with torch.save."
        )
    shared = config.load.mmap_flags == getattr(os_mmap, "MAP_SHARED", None)
    return load_archive(archive, reading, mapped, shared)


def _check_seekable(f: Any) -> None:
    """Refuse files that cannot go back, such as sockets, in PyTorch's words."""
    try:
        f.seek(f.tell())
    except (OSError, AttributeError) as error:
        if "seek" not in str(error) and "tell" not in str(error):
            raise
        raise type(error)(_SEEKABLE.format(error)) from None


def _load_safetensors(path: str, map_location: MAP_LOCATION) -> Any:
    if map_location is not None and not isinstance(map_location, str | bytes | Device):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. Use "
            "a device string or torch.device instead."
        )
    from ..safetensors import load_file

    return load_file(path, "cpu" if map_location is None else str(map_location))
