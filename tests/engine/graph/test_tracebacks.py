"""Tracebacks through operations show lines of source, as those of any library do."""

from __future__ import annotations

import linecache
import os
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import gradtape
from gradtape._common.site import internal_files

PACKAGE = os.path.dirname(gradtape.__file__)


def frames_of(call: Callable[[], Any]) -> list[traceback.FrameSummary]:
    """Return the frames of the error that a call raises, the caller's first."""
    try:
        call()
    except Exception as error:
        return list(traceback.extract_tb(error.__traceback__))
    raise AssertionError("nothing was raised")


def twice() -> None:
    x = gradtape.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x.exp()).sum()
    loss.backward()
    loss.backward()


def overwritten() -> None:
    x = gradtape.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    loss = gradtape.mv(gradtape.ones(2, 2, requires_grad=True), y).sum()
    y.add_(1.0)
    loss.backward()


def ones(*size: int) -> Any:
    return gradtape.ones(*size, requires_grad=True)


CALLS: dict[str, Callable[[], Any]] = {
    "two operands": lambda: ones(2) * ones(3),
    "a function": lambda: gradtape.add(ones(2), ones(3), alpha=1),
    "out": lambda: gradtape.mul(ones(2), ones(2), out=ones(2)),
    "an option": lambda: gradtape.div(ones(2), ones(3), rounding_mode="floor"),
    "a product": lambda: ones(2, 3) @ ones(2, 3),
    "a reduction": lambda: ones(2).sum(4),
    "a flag": lambda: ones(2).sum(0, keepdim=3),
    "three operands": lambda: gradtape.addmm(ones(2), ones(2, 3), ones(2, 3)),
    "several results": lambda: ones(2).max(3),
    "a sequence": lambda: gradtape.cat((ones(2, 2), ones(3, 3)), 0),
    "a view": lambda: ones(2).transpose(0, 3),
    "a write": lambda: gradtape.ones(2).add_(gradtape.ones(3)),
    "backward of twice": twice,
    "backward of what was overwritten": overwritten,
}


@pytest.mark.parametrize("name", CALLS)
def test_every_frame_of_an_error_shows_its_line(name: str) -> None:
    frames = frames_of(CALLS[name])
    inner = [frame for frame in frames if internal_files[frame.filename]]
    assert inner, "the error is not raised in the library"
    for frame in inner:
        assert frame.line, frame
        is_written = frame.filename.startswith("<gradtape signature")
        assert is_written or os.path.isfile(
            frame.filename.replace("<gradtape>", PACKAGE)
        )


@pytest.mark.parametrize("name", ["two operands", "backward of twice"])
def test_the_template_of_an_operation_is_a_file(name: str) -> None:
    own = ("mul", "backward", "gradtape._compiled")
    last = [f for f in frames_of(CALLS[name]) if f.name.startswith(own)]
    assert any("_dispatch" in frame.filename for frame in last)


def test_a_frame_is_named_after_the_operation() -> None:
    names = [frame.name for frame in frames_of(CALLS["a product"])]
    assert "mm" in names or "matmul" in names


def test_the_signature_of_an_operation_can_be_read() -> None:
    frame = next(
        frame
        for frame in frames_of(CALLS["a flag"])
        if frame.filename.startswith("<gradtape signature")
    )
    linecache.checkcache()
    assert "_not_bool" in linecache.getline(frame.filename, frame.lineno or 0)


def test_the_line_of_a_node_is_the_users() -> None:
    x = gradtape.ones(2, 2, requires_grad=True)
    results = (
        x * x,
        gradtape.add(x, x, alpha=1),
        x @ x,
        x.sum(),
        x.max(0)[0],
        gradtape.cat((x, x)),
        x.transpose(0, 1),
        gradtape.nn.functional.linear(x, x),
        (x * 1).mul_(2),
    )
    start = test_the_line_of_a_node_is_the_users.__code__.co_firstlineno + 3
    for at, result in enumerate(results):
        assert result.grad_fn is not None
        site = result.grad_fn.site
        assert site is not None
        assert (site.file, site.line) == (__file__, start + at)


def test_an_operation_may_be_the_outermost_call_of_a_thread() -> None:
    import _thread
    import threading

    x, done = gradtape.ones(2, requires_grad=True), threading.Event()

    class Last(float):
        def __del__(self) -> None:
            done.set()

    _thread.start_new_thread(gradtape.sum, (x * Last(1.0),))
    assert done.wait(30)
