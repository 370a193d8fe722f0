"""Pruning beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ..oracle import assert_same
from .test_nn_utils_parametrize import caught, state, trained

pytest.importorskip("torch.nn.utils.prune")  # PyTorch loads it when it is asked for

STEPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "identity": lambda t, p, m: p.identity(m, "weight"),
    "l1": lambda t, p, m: p.l1_unstructured(m, "weight", 0.3),
    "l1_count": lambda t, p, m: p.l1_unstructured(m, "weight", 5),
    "l1_none": lambda t, p, m: p.l1_unstructured(m, "weight", 0),
    "l1_scores": lambda t, p, m: p.l1_unstructured(
        m, "weight", 2, importance_scores=t.arange(12.0).view(4, 3)
    ),
    "ln": lambda t, p, m: p.ln_structured(m, "weight", 1, 2, 0),
    "ln_columns": lambda t, p, m: p.ln_structured(m, "weight", 0.4, float("inf"), -1),
    "mask": lambda t, p, m: p.custom_from_mask(m, "weight", t.eye(4, 3)),
    "random": lambda t, p, m: p.random_unstructured(m, "weight", 0.5),
    "random_rows": lambda t, p, m: p.random_structured(m, "weight", 2, 0),
    # ---- refused ----
    "bad_amount": lambda t, p, m: p.l1_unstructured(m, "weight", 1.5),
    "negative_amount": lambda t, p, m: p.l1_unstructured(m, "weight", -1),
    "too_many": lambda t, p, m: p.l1_unstructured(m, "weight", 100),
    "no_amount": lambda t, p, m: p.l1_unstructured(m, "weight", "many"),
    "bad_dim": lambda t, p, m: p.ln_structured(m, "weight", 1, 2, 7),
    "flat": lambda t, p, m: p.ln_structured(m, "bias", 1, 2, 0),
}


@pytest.mark.parametrize(
    "second", ["l1", "ln", "mask", "random", "random_rows", "flat"]
)
@pytest.mark.parametrize("first", sorted(STEPS))
def test_two_steps_of_pruning_match(first: str, second: str) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        prune, layer = t.nn.utils.prune, t.nn.Linear(3, 4)
        found = [caught(lambda n=n: STEPS[n](t, prune, layer)) for n in (first, second)]
        found.append(layer.weight.tolist())
        hooks = [type(h).__name__ for h in layer._forward_pre_hooks.values()]
        return found, hooks, prune.is_pruned(layer), trained(t, layer, t.ones(2, 3))

    assert_same(program, rtol=1e-4)


def test_pruning_is_made_permanent_alike() -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        prune, layer = t.nn.utils.prune, t.nn.Linear(3, 4)
        prune.l1_unstructured(layer, "weight", 0.3)
        prune.random_structured(layer, "weight", 1, 0)
        prune.remove(layer, "weight")
        again = caught(lambda: prune.remove(layer, "weight"))
        return again, prune.is_pruned(layer), state(t, layer), repr(layer)

    assert_same(program)


@pytest.mark.parametrize("method", ["L1Unstructured", "RandomUnstructured"])
def test_pruning_of_several_parameters_matches(method: str) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        prune = t.nn.utils.prune
        net = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Linear(4, 2))
        pairs = [(net[0], "weight"), (net[1], "weight"), (net[1], "bias")]
        kind = getattr(prune, method)
        prune.global_unstructured(pairs, kind, amount=0.4)
        prune.global_unstructured(pairs, kind, amount=3)
        refused = [
            caught(lambda: prune.global_unstructured(3, kind, amount=1)),
            caught(lambda: prune.global_unstructured(pairs, kind, 3, amount=1)),
        ]
        return state(t, net), refused

    assert_same(program)


def test_tensors_are_pruned_without_modules() -> None:
    def program(t: Any) -> Any:
        method = t.nn.utils.prune.L1Unstructured(2)
        scores = t.tensor([3.0, 1.0, 2.0])
        x = t.tensor([1.0, -5.0, 0.5])
        return method.prune(x).tolist(), method.prune(
            x, importance_scores=scores
        ).tolist()

    assert_same(program)


def test_containers_refuse_other_methods_alike() -> None:
    def program(t: Any) -> Any:
        prune = t.nn.utils.prune
        method = prune.Identity()
        method._tensor_name = "weight"
        container = prune.PruningContainer(method)
        other = caught(lambda: container.add_pruning_method(3))
        return other, len(container), [type(m).__name__ for m in container]

    assert_same(program)


def test_a_mask_of_another_shape_is_refused() -> None:
    def program(t: Any) -> Any:
        layer = t.nn.Linear(4, 3)
        t.nn.utils.prune.custom_from_mask(layer, "weight", t.ones(2, 2))

    assert_same(program)
