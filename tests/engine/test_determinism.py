"""What programs find that ask for determinism: new memory filled, some ops refused."""

from __future__ import annotations

from typing import Any

import pytest

from .oracle import assert_same

NEW = {
    "empty": lambda t, d: t.empty(3, dtype=d),
    "empty out=": lambda t, d: t.empty(3, out=t.zeros(1, dtype=d)),
    "empty_like": lambda t, d: t.empty_like(t.zeros(2, 3, dtype=d).t()),
    "empty_strided": lambda t, d: t.empty_strided((2, 3), (1, 2), dtype=d),
    "empty_permuted": lambda t, d: t.empty_permuted((2, 3), (1, 0), dtype=d),
    "new_empty": lambda t, d: t.zeros(1, dtype=d).new_empty(2),
    "resize_": lambda t, d: t.zeros(2, dtype=d).resize_(5),
}

REFUSED = {
    "put_": lambda t: t.zeros(3).put_(t.tensor([0]), t.ones(1)),
    "put_ adding": lambda t: t.zeros(3).put_(t.tensor([0]), t.ones(1), True),
    "max_unpool1d": lambda t: t.nn.MaxUnpool1d(2)(t.ones(1, 2), _places(t, 1, 2)),
    "max_unpool2d": lambda t: t.nn.MaxUnpool2d(2)(t.ones(1, 2, 2), _places(t, 1, 2, 2)),
    "max_unpool3d": lambda t: t.nn.MaxUnpool3d(2)(
        t.ones(1, 1, 1, 1), _places(t, 1, 1, 1, 1)
    ),
}


def _places(t: Any, *size: int) -> Any:
    return t.zeros(size, dtype=t.int64)


def asked(t: Any, call: Any, fills: bool = True, warn_only: bool = False) -> Any:
    """Return what a call returns in a deterministic program."""
    t.use_deterministic_algorithms(True, warn_only=warn_only)
    t.utils.deterministic.fill_uninitialized_memory = fills
    try:
        return call()
    finally:
        t.use_deterministic_algorithms(False)
        t.utils.deterministic.fill_uninitialized_memory = True


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", NEW)
def test_new_memory_is_filled(name: str, dtype: str):
    def program(t):
        return asked(t, lambda: NEW[name](t, getattr(t, dtype)))

    assert_same(program)


@pytest.mark.parametrize("name", REFUSED)
def test_ops_without_a_deterministic_way_refuse(name: str):
    assert_same(lambda t: asked(t, lambda: REFUSED[name](t)))


def test_they_warn_where_that_will_do():
    assert_same(lambda t: asked(t, lambda: REFUSED["put_"](t), warn_only=True))


def test_the_settings_are_read_back_and_checked():
    def program(t):
        setting = t.utils.deterministic
        seen = [setting.fill_uninitialized_memory]
        read = t._C._get_deterministic_fill_uninitialized_memory
        seen += asked(t, lambda: [setting.fill_uninitialized_memory, read()], False)
        t.use_deterministic_algorithms(False, warn_only=True)
        seen.append(t.is_deterministic_algorithms_warn_only_enabled())
        t.use_deterministic_algorithms(False)
        return [*seen, t.get_deterministic_debug_mode()]

    assert_same(program)
    assert_same(lambda t: t.use_deterministic_algorithms(False, warn_only=1))
    assert_same(
        lambda t: setattr(t.utils.deterministic, "fill_uninitialized_memory", 1)
    )
