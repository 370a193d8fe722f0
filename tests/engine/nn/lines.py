"""Lines of code that both engines run, each in a fresh scope: compact oracle tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..oracle import assert_same


def check_line(line: str, setup: str = "") -> None:
    """Assert that a line gives the same in both engines, which are called ``t`` in it.

    Statements may come before it, divided by semicolons; the last part is the result.
    Random numbers begin at the same seed.
    """
    *statements, expression = line.split(";")

    def program(t: Any) -> Any:
        scope: dict[str, Any] = {"t": t, "np": np}
        t.manual_seed(0)
        exec("\n".join([setup, *(s.strip() for s in statements)]), scope)
        return eval(expression.strip(), scope)

    assert_same(program)
