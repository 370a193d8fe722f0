"""Kernels that numba compiles, where it is installed: one pass over memory, not many.

``GRADTAPE_NUMBA=0`` in the environment turns them off.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

LARGE = 1 << 15
"""Elements from which on a kernel is worth the time that numba takes to begin."""

FAILED = (
    "numba is installed, but could not compile gradtape's kernels, so NumPy computes "
    "everything: {error}. GRADTAPE_NUMBA=0 in the environment avoids this warning."
)

_SINGLE = np.dtype(np.float32)


class switch:
    """Whether kernels are used; a failure turns them off for the process."""

    on = os.environ.get("GRADTAPE_NUMBA") != "0"


def kernel_for(name: str, *arrays: Any) -> Callable[..., Any] | None:
    """Return a compiled kernel, as ``"family.function"``, if it serves these arrays.

    They have to be large, NumPy's, float32, writable and in one piece.
    """
    if not switch.on or arrays[0].size < LARGE or not all(map(_is_served, arrays)):
        return None
    return _compiled(name)


def _is_served(array: Any) -> bool:
    return (
        type(array) is np.ndarray
        and array.dtype == _SINGLE
        and bool(array.flags.carray)
    )


@functools.cache
def _compiled(name: str) -> Callable[..., Any] | None:
    hidden = "numba" in sys.modules and not sys.modules["numba"]  # by a None there
    if hidden or find_spec("numba") is None:
        switch.on = False
        return None
    family, _, function = name.partition(".")
    try:
        return getattr(import_module(f".{family}", __name__), function).compiled()
    except Exception as error:  # whatever it is, NumPy can do without
        from ..._common.warn import warn_once  # late: it knows the layers above

        switch.on = False
        what = str(error).partition("\n")[0]
        warn_once(FAILED.format(error=f"{type(error).__name__}: {what}"))
        return None
