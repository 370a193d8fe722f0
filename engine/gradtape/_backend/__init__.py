"""Backends: which array library a tensor's memory belongs to.

Ops never name a backend. They are handed ``xp``, the array module, and the few things
array modules disagree on go through :class:`Backend`. CuPy is never imported here
unless an array or a device of it is asked for.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from ._meta import NO_DATA as NO_DATA
from ._meta import NO_ITEM as NO_ITEM
from ._meta import MetaBackend
from ._numpy import NumpyBackend
from ._shell import Shell as Shell
from ._shell import ShellBackend


class Backend(Protocol):
    """What the engine needs beyond the array module itself."""

    name: str
    xp: Any
    array_type: type

    def pointer(self, array: Any) -> int:
        """Return the address of the array's first element."""
        ...

    def flat(self, owner: Any) -> Any:
        """Return a 1-D array over all memory of ``owner``."""
        ...

    def strided(
        self,
        flat: Any,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
    ) -> Any:
        """Return a view into ``flat``; strides and offset count elements."""
        ...

    def to_host(self, array: Any) -> Any:
        """Return the values as a NumPy array."""
        ...

    def device_index(self, array: Any) -> int | None:
        """Return the number of the device, None where there is only one."""
        ...


NO_CUPY: Final = "Torch not compiled with CUDA enabled"
INSTALL_CUPY: Final = (
    "a cuda device was asked for, but CuPy is not installed; "
    "pip install cupy-cuda12x or cupy-cuda13x"
)
NO_DEVICE: Final = "No CUDA GPUs are available"

NUMPY = NumpyBackend()
META = MetaBackend()
VALUELESS: Final = (META.array_type, Shell)
"""What only has a layout: tensors on the meta device, and of wrapper classes."""

_BY_TYPE: dict[type, Backend] = {
    each.array_type: each for each in (NUMPY, META, ShellBackend())
}


def backend_of(array: Any) -> Backend:
    """Return the backend of an array, by its type.

    Raises TypeError for anything that is no array of a known library.
    """
    found = _BY_TYPE.get(type(array))
    return found if found is not None else _find(array)


def host_like(array: Any) -> Any:
    """Return a host array laid out as an array, of its values where it has any."""
    if isinstance(array, META.array_type):
        return META.laid_out(array)
    return backend_of(array).to_host(array)


def cupy_backend() -> Backend:
    """Import CuPy and return its backend.

    Raises AssertionError, in PyTorch's words and with what to install, where CuPy is
    missing; RuntimeError where it finds no device.
    """
    try:
        from ._cupy import CupyBackend  # late: importing CuPy takes seconds
    except ImportError as missing:
        error = AssertionError(NO_CUPY)
        error.add_note(INSTALL_CUPY)
        raise error from missing
    backend = CupyBackend()
    if not backend.count():
        raise RuntimeError(NO_DEVICE)
    _BY_TYPE[backend.array_type] = backend
    return backend


def _find(array: Any) -> Backend:
    if isinstance(array, NUMPY.xp.generic):
        return NUMPY
    if type(array).__module__.partition(".")[0] == "cupy":
        return cupy_backend()
    for array_type, backend in list(_BY_TYPE.items()):
        if isinstance(array, array_type):
            return backend
    raise TypeError(
        f"no backend for arrays of type {type(array).__name__}; "
        "gradtape computes on numpy and cupy arrays"
    )
