"""The flags of Intel's MKL, which nothing here uses."""

from __future__ import annotations

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Say that MKL is there, as PyTorch's packages do; NumPy's BLAS computes."""
    return True


class verbose:
    """A block in which PyTorch prints what MKL does; here nothing is printed."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: object) -> None: ...
