"""Functions for devices that there are none of, which refuse as PyTorch does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def refusing(error: type[Exception], sentence: str) -> Callable[..., Any]:
    """Return a function that raises ``error(sentence)`` whatever it is given."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise error(sentence)

    return refuse


def nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing, as PyTorch does where it would ask a device that is absent."""


def no(*args: Any, **kwargs: Any) -> bool:
    """Answer no."""
    return False


def yes(*args: Any, **kwargs: Any) -> bool:
    """Answer yes."""
    return True


def same(x: Any) -> Any:
    """Return what was given: a mark that changes nothing."""
    return x


def zero(*args: Any, **kwargs: Any) -> int:
    """Answer 0."""
    return 0


_NO_MTIA = (
    "Torch not compiled with MTIA enabled. Ensure you have `import "
    "mtia.host_runtime.torch_mtia.dynamic_library` in your python src file and include "
    "`//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!"
)


def no_device(kind: str) -> Exception:
    """Build PyTorch's error for tensors on a type of device that is absent."""
    if kind == "xpu":
        return AssertionError("Torch not compiled with XPU enabled")
    if kind == "mtia":
        return AssertionError(_NO_MTIA)
    if kind in ("hpu", "privateuseone"):
        return ModuleNotFoundError(f"No module named 'torch.{kind}'")
    return RuntimeError(f"PyTorch is not linked with support for {kind} devices")
