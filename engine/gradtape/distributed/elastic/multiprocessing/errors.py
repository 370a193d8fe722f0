"""`record`, which programs of torchrun put on their main function."""

from __future__ import annotations

import functools
import json
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

__all__ = ["record"]

P = ParamSpec("P")
R = TypeVar("R")


def record(fn: Callable[P, R]) -> Callable[P, R]:
    """Let a function leave the error that ends it in the file that torchrun names.

    >>> @record
    ... def main():
    ...     return 3
    >>> main()
    3
    """

    @functools.wraps(fn)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            file = os.environ.get("TORCHELASTIC_ERROR_FILE")
            if file:
                Path(file).write_text(json.dumps(_report(error)), encoding="utf-8")
            raise

    return recorded


def _report(error: Exception) -> dict[str, object]:
    details = {
        "py_callstack": traceback.format_exc(),
        "timestamp": str(int(time.time())),
    }
    name = type(error).__name__
    return {"message": {"message": f"{name}: {error}", "extraInfo": details}}
