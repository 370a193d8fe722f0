"""Which part of each gradient came from which term of the loss, in the snapshot."""

from __future__ import annotations

from typing import Any

import pytest

import gradviz
from gradviz import ir
from gradviz.ir.validate import validate


def told(snapshot: ir.Snapshot) -> dict[str, dict[str, float | None]]:
    """Return the shares by the names of parameters and terms."""
    validate(snapshot)
    found: dict[str, dict[str, float | None]] = {}
    for each in snapshot.term_shares:
        name = snapshot.flow_layers[each.layer].name
        found.setdefault(name, {})[snapshot.loss_terms[each.term].name] = each.share
    return found


def test_terms_have_the_names_of_the_code_and_reach_what_they_reach(lib: Any):
    trunk, one, two = (lib.nn.Linear(3, n, bias=False) for n in (3, 1, 2))
    with gradviz.record(engine=lib.__name__) as rec:
        h = lib.tanh(trunk(lib.ones(2, 3)))
        fit = (one(h) ** 2).mean()
        penalty = 0.5 * (1 + two(h) ** 2).mean()
        loss = fit + 0.1 * penalty
        loss.backward()
    shares = told(rec.snapshot())
    assert shares["one.weight"] == {"fit": 1.0}
    assert shares["two.weight"] == {"penalty": 1.0}
    assert shares["trunk.weight"].keys() == {"fit", "penalty"}
    assert sum(each or 0 for each in shares["trunk.weight"].values()) == pytest.approx(
        1
    )


def test_a_parameter_that_terms_reach_apart_has_a_share_of_each(lib: Any):
    weight = lib.nn.Parameter(lib.ones(4))
    with gradviz.record(engine=lib.__name__) as rec:
        fit = weight.exp().sum()  # gives e, and the other one 2
        decay = (weight**2).sum()
        loss = fit + decay
        loss.backward()
    shares = told(rec.snapshot())["weight"]
    assert shares["fit"] == pytest.approx(0.576, abs=0.001)
    assert shares["decay"] == pytest.approx(0.424, abs=0.001)


def test_a_loss_of_one_term_has_none(lib: Any):
    layer = lib.nn.Linear(3, 1)
    with gradviz.record(engine=lib.__name__) as rec:
        layer(lib.ones(2, 3)).mean().backward()
    assert rec.snapshot().loss_terms == ()
