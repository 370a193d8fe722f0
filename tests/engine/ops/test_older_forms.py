"""Deprecated signatures with numbers first, and what they warn of."""

from __future__ import annotations

import warnings

import pytest

import gradtape

from ..nn.lines import check_line

SETUP = """
import warnings
warnings.simplefilter("ignore")
v, w, m, b = t.arange(2.0), t.ones(2), t.eye(2), t.ones(1, 2, 2)
"""

CALLS = """
t.add(v, 2, w)
v.add(2, w)
v.add_(2, w)
t.add(v, 2, w, out=t.empty(2))
v.sub(0.5, w)
t.sub(v, 2, w)
v.sub_(2, w)
t.addcmul(v, 2, w, v)
v.addcmul_(2, w, v)
v.addcdiv(2, v, w)
t.addcdiv(v, 2, v, w)
v.addcdiv_(2, v, w)
t.addmm(2, m, 3, m, m)
t.addmm(2, m, m, m)
m.addmm(2, 3, m, m)
t.addmv(2, v, 3, m, w)
v.addmv(2, m, w)
t.addr(2, m, 3, v, w)
t.addbmm(2, m, 3, b, b)
t.baddbmm(2, b, 3, b, b)
t.addcmul(v.requires_grad_(), 2, w, v).grad_fn
m.addmm_(2, 3, m.clone(), m.clone())
v.addmv_(2, m, w)
m.addr_(2, v, w)
"""


@pytest.mark.filterwarnings("ignore:This overload")
@pytest.mark.parametrize("line", CALLS.strip().splitlines())
def test_numbers_come_first(line: str) -> None:
    check_line(line, SETUP)


def test_older_forms_say_what_to_write_instead() -> None:
    x = gradtape.zeros(2)
    always = gradtape.is_warn_always_enabled()
    gradtape.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            x.addcmul_(2, x, x)
    finally:
        gradtape.set_warn_always(always)
    [warning] = said
    assert str(warning.message) == (
        "This overload of addcmul_ is deprecated:\n"
        "\taddcmul_(Number value, Tensor tensor1, Tensor tensor2)\n"
        "Consider using one of the following signatures instead:\n"
        "\taddcmul_(Tensor tensor1, Tensor tensor2, *, Number value = 1)"
    )
    assert warning.filename == __file__
