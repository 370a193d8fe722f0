"""Random models trained for many steps, with a schedule, beside PyTorch's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ..oracle import assert_same

RATES = {
    "Adadelta": 1.0,
    "Adafactor": 0.05,
    "Adagrad": 0.05,
    "Adam": 0.01,
    "AdamW": 0.01,
    "Adamax": 0.01,
    "ASGD": 0.05,
    "NAdam": 0.01,
    "RAdam": 0.01,
    "RMSprop": 0.005,
    "Rprop": 0.01,
    "SGD": 0.05,
    "LBFGS": 0.3,
}


def trained(t, name, seed, steps=40):
    """Train a random model in halves that a checkpoint separates."""
    draw = np.random.default_rng(seed)
    widths = [int(width) for width in draw.integers(1, 7, size=4)]
    layers = []
    for wide, narrow in itertools.pairwise(widths):
        layers += [t.nn.Linear(wide, narrow, bias=bool(draw.integers(2))), t.nn.Tanh()]
    model = t.nn.Sequential(*layers[:-1]).double()
    with t.no_grad():
        for param in model.parameters():
            param.copy_(t.from_numpy(draw.normal(size=tuple(param.shape))))
    inputs = t.from_numpy(draw.normal(size=(16, widths[0])))
    target = t.from_numpy(draw.normal(size=(16, widths[-1])))
    optimizer = getattr(t.optim, name)(model.parameters(), lr=RATES[name])
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = t.nn.functional.mse_loss(model(inputs), target)
        loss.backward()
        losses.append(loss.item())
        return loss

    scheduler = t.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    for turn in range(steps if name != "LBFGS" else 6):
        if turn == steps // 2:
            states = optimizer.state_dict(), scheduler.state_dict()
            optimizer = getattr(t.optim, name)(model.parameters())
            scheduler = t.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=1)
            optimizer.load_state_dict(states[0])
            scheduler.load_state_dict(states[1])
        optimizer.step(closure)
        scheduler.step()
    return losses, [param.tolist() for param in model.parameters()]


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("seed", range(3))
def test_models_train_alike(name, seed):
    assert_same(lambda t: trained(t, name, seed), rtol=1e-5)


@pytest.mark.parametrize("name", RATES)
def test_training_lowers_the_loss(name):
    import gradtape

    losses, _ = trained(gradtape, name, 0)
    assert losses[-1] < losses[0]
