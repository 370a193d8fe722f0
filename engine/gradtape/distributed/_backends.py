"""The names of backends, and which of them serves which type of device."""

from __future__ import annotations

import importlib.util
from typing import Any, ClassVar

from .. import cuda
from . import _errors
from ._nccl import nccl_library

__all__ = [
    "Backend",
    "BackendConfig",
    "is_backend_available",
    "is_gloo_available",
    "is_mpi_available",
    "is_nccl_available",
    "is_ucc_available",
    "is_xccl_available",
]


class Backend(str):
    """The name of a backend, in lower case.

    ``gloo`` carries tensors of the CPU, and those of CUDA by way of it; so does
    ``mpi``, among processes that mpirun started; ``nccl`` carries those of CUDA.

    >>> Backend("GLOO")
    'gloo'
    """

    __slots__ = ()

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    FAKE = "fake"

    backend_list: ClassVar[list[str]] = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": GLOO, "cuda": NCCL}

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return name.lower()  # a plain string, as PyTorch's


class BackendConfig:
    """Which backend serves the tensors of which type of device.

    Raises ValueError for a text that does not say it.

    >>> str(BackendConfig("cpu:gloo,cuda:nccl"))
    'cpu:gloo,cuda:nccl'
    """

    def __init__(self, backend: str | None) -> None:
        self.device_backend_map: dict[str, str] = {}
        if not backend or backend == Backend.UNDEFINED:
            self.device_backend_map["cpu"] = Backend.GLOO
            if _has_gpus():
                self.device_backend_map["cuda"] = Backend.NCCL
        elif ":" in backend.lower():
            self._read(backend.lower())
        else:
            self._serve_with(backend.lower())

    def _serve_with(self, backend: str) -> None:
        if backend == Backend.NCCL:
            devices = ("cuda",)
        elif backend in (Backend.GLOO, Backend.MPI):
            devices = ("cpu", "cuda")
        else:
            raise AssertionError(_errors.UNKNOWN_BACKEND.format(backend.upper()))
        self.device_backend_map.update(dict.fromkeys(devices, backend))

    def _read(self, text: str) -> None:
        for pair in text.split(","):
            device, colon, backend = pair.partition(":")
            if not colon or ":" in backend:
                raise ValueError(f"Invalid device:backend pairing: {pair}. {_FORM}")
            if device in self.device_backend_map:
                raise ValueError(
                    f"Duplicate device type {device} in backend string: {text}. {_FORM}"
                )
            self.device_backend_map[device] = Backend(backend)

    def get_device_backend_map(self) -> dict[str, str]:
        """Return the backend of each type of device."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{d}:{name}" for d, name in self.device_backend_map.items())


_FORM = (
    "The custom backend string argument is invalid: it should look like "
    '"<device_type1>:<backend1>,<device_type2>:<backend2>...", as "cpu:gloo,cuda:nccl".'
)


def _has_gpus() -> bool:
    return cuda.is_available() and is_nccl_available()


def is_gloo_available() -> bool:
    """Tell that processes can talk by TCP, which takes nothing but Python."""
    return True


def is_mpi_available() -> bool:
    """Tell whether mpi4py is installed."""
    return importlib.util.find_spec("mpi4py") is not None


def is_nccl_available() -> bool:
    """Tell whether CuPy is installed, and has NCCL."""
    try:
        nccl_library()
    except RuntimeError:
        return False
    return True


def is_ucc_available() -> bool:
    """Tell that there is none."""
    return False


def is_xccl_available() -> bool:
    """Tell that there is none."""
    return False


def is_backend_available(backend: str) -> bool:
    """Tell whether a backend can be used, by its name."""
    asked: dict[str, Any] = {
        Backend.GLOO: is_gloo_available,
        Backend.MPI: is_mpi_available,
        Backend.NCCL: is_nccl_available,
    }
    known = asked.get(backend.lower())
    return known is not None and known()
