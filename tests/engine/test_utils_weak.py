"""References that keep no tensor alive, and the modules that run, beside PyTorch's."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from .oracle import assert_same

pytest.importorskip("torch")


def part(t: Any, name: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{name}")


def test_a_dictionary_finds_tensors_by_identity() -> None:
    def program(t: Any) -> Any:
        weak = part(t, "utils.weak")
        a, b = t.ones(1), t.ones(1)
        names = weak.WeakTensorKeyDictionary({a: "a"})
        names[b] = "b"
        joined, copied = names | {a: "new"}, names.copy()
        found = [
            (a in names, t.ones(1) in names, 3 in names, len(names)),
            (names == copied, names == joined, joined[a], copied.get(t.ones(1), "?")),
            (names.pop(a), list(names.values()), names.setdefault(a, "back")),
            (names.keyrefs()[0] == weak.WeakIdRef(b), len(names.keyrefs())),
        ]
        names |= {b: "B"}
        return found, names[b]

    assert_same(program)


def test_a_dictionary_drops_tensors_that_die() -> None:
    def program(t: Any) -> Any:
        weak = part(t, "utils.weak")
        names, kept, lost = weak.WeakTensorKeyDictionary(), t.ones(1), t.ones(1)
        names[kept], names[lost] = "kept", "lost"
        reference, other = weak.WeakIdRef(lost), weak.TensorWeakRef(lost)
        same = other() is lost
        del lost
        return same, list(names.values()), reference(), other(), len(names)

    assert_same(program)


@pytest.mark.parametrize("step", ["names[3] = 1", "names[t.ones(1)]", "ref(3)"])
def test_what_is_no_key_is_refused(step: str) -> None:
    def program(t: Any) -> Any:
        weak = part(t, "utils.weak")
        scope = {"names": weak.WeakTensorKeyDictionary(), "ref": weak.TensorWeakRef}
        try:
            exec(step, {"t": t, **scope})
        except KeyError as error:  # whose text is an address
            return type(error).__name__

    assert_same(program)


def test_a_module_tracker_knows_what_runs() -> None:
    def program(t: Any) -> Any:
        tracker = part(t, "utils.module_tracker").ModuleTracker()
        model = t.nn.Sequential(
            t.nn.Linear(2, 2), t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU())
        )
        log: list[Any] = []

        def note(what: str) -> None:
            log.append((what, sorted(tracker.parents), tracker.is_bw))

        for name, module in model.named_modules():
            module.register_forward_hook(lambda *_, name=name: note(name))
        for name, parameter in model.named_parameters():
            parameter.register_hook(lambda _, name=name: note(name))
        for needs_grad in (True, False):
            x = t.ones(1, 2, requires_grad=needs_grad)
            with tracker:
                model(x).sum().backward()
                note("over")
        model(x)
        return log

    assert_same(program)
