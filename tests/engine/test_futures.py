"""Futures give values later, with PyTorch's sentences."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

import gradtape as gt

from .oracle import assert_same


def _said(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0]


def test_values_and_callbacks() -> None:
    def program(t: Any) -> Any:
        future, seen = t.futures.Future(), []
        before = future.done()
        future.add_done_callback(lambda done: seen.append(done.value()))
        after = future.then(lambda done: done.value() + 1).then(
            lambda done: done.wait()
        )
        future.set_result(3)
        inline = future.then(lambda done: 2 * done.value())
        return before, future.done(), future.wait(), after.wait(), inline.value(), seen

    assert_same(program)


def test_failures_are_passed_on() -> None:
    def program(t: Any) -> Any:
        failed, done = t.futures.Future(), t.futures.Future()
        failed.set_exception(ValueError("foo"))
        done.set_result(1)
        behind = done.then(lambda _: 1 / 0)
        calls = [
            *(failed.wait, failed.value, failed.then(lambda f: f.wait()).wait),
            *(behind.wait, behind.then(lambda f: f.value()).wait),
            *(lambda: done.set_result(2), lambda: pickle.dumps(done)),
            lambda: t.futures.Future().set_exception("no"),
            lambda: t.futures.Future(devices=["cpu"]),
            lambda: t.futures.wait_all([done, failed]),
            lambda: t.futures.collect_all([failed, done]).wait(),
        ]
        return [_said(call) for call in calls], failed.then(lambda _: 5).wait()

    assert_same(program)


def test_several_futures() -> None:
    def program(t: Any) -> Any:
        futures = [t.futures.Future() for _ in range(3)]
        together = t.futures.collect_all(futures)
        for number, future in enumerate(futures):
            future.set_result(number)
        values = [each.value() for each in together.wait()]
        return values, t.futures.wait_all(futures), t.futures.collect_all([]).wait()

    assert_same(program)


def test_another_thread_gives_the_value() -> None:
    future: gt.futures.Future[gt.Tensor] = gt.futures.Future()
    thread = threading.Thread(target=lambda: future.set_result(gt.ones(2)))
    thread.start()
    assert future.wait().tolist() == [1.0, 1.0]
    thread.join()


def test_no_value_yet_and_no_callback() -> None:
    with pytest.raises(RuntimeError, match="no value yet"):
        gt.futures.Future().value()
    with pytest.raises(TypeError, match="must be callable, not int"):
        gt.futures.Future().then(3)  # pyright: ignore[reportArgumentType]


def test_errors_of_done_callbacks_are_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    future: gt.futures.Future[int] = gt.futures.Future()
    future.add_done_callback(lambda _: 1 / 0)
    future.set_result(1)
    assert future.wait() == 1
    assert "when running the callback: ZeroDivisionError" in capsys.readouterr().err
