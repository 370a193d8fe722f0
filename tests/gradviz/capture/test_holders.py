"""Which names of the program keep a graph alive."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import gradviz
from gradviz import ir


class Meter:
    """A user's object that collects losses, as many do."""

    def __init__(self) -> None:
        self.total: Any = 0


def held(snapshot: ir.Snapshot) -> dict[str, tuple[str, ...]]:
    return {
        node.call: snapshot.tensors[node.outputs[0]].holders
        for node in snapshot.nodes
        if node.outputs and snapshot.tensors[node.outputs[0]].holders
    }


def test_variables_lists_and_attributes_are_named(lib: Any):
    engine = "gradtape" if lib.__name__ == "gradtape" else "torch"
    meter, history = Meter(), []
    with gradviz.record(engine=engine) as rec:
        x = lib.ones(2, requires_grad=True)
        hidden = x.exp()
        history.append(hidden.sin())
        meter.total = hidden.cos() + meter.total
        hidden.tanh()  # held by nobody
    assert held(rec.snapshot()) == {
        "x": ("x",),
        "exp": ("hidden",),
        "sin": ("history[0]",),
        "add": ("meter.total",),
    }


def test_looking_for_names_keeps_nothing_alive(lib: Any):
    engine = "gradtape" if lib.__name__ == "gradtape" else "torch"
    gone: list[Any] = []

    def program() -> Any:
        x = lib.ones(2, requires_grad=True)
        with gradviz.record(engine=engine) as rec:
            y = x.exp()
            gone.append(weakref.ref(y))
        return rec

    rec = program()
    gc.collect()
    assert gone[0]() is None
    assert held(rec.snapshot())["exp"] == ("y",)
