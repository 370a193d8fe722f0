"""Train the demo's network on the digits, and take the step that is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

import gradtape as gt
from gradtape import nn, optim
from gradviz.demo.model import DigitNet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradtape import Tensor
    from gradviz.demo.digits import Digits

_SEED = 0
_EPOCHS = 6
_BATCH = 64


@dataclass(frozen=True)
class Training:
    """What training takes along from step to step."""

    model: DigitNet
    criterion: nn.CrossEntropyLoss
    optimizer: optim.Adam

    def step(self, images: Tensor, labels: Tensor) -> Tensor:
        """Take one step down the gradient; return the loss before it."""
        self.optimizer.zero_grad()
        scores = self.model(images)
        loss = self.criterion(scores, labels)
        loss.backward()
        self.optimizer.step()
        return loss


def start() -> Training:
    """Return an untrained network; the same one on every run."""
    gt.manual_seed(_SEED)
    model = DigitNet()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, nn.CrossEntropyLoss(), optimizer)


def train(digits: Digits, *, progress: bool = True) -> Training:
    """Return a trained network; the same one on every run."""
    training = start()
    steps = list(batches(digits))
    with tqdm(steps, desc="training", unit="step", disable=not progress) as bar:
        for images, labels in bar:
            loss = training.step(images, labels)
            bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
    return training


def batches(digits: Digits) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the batches of all epochs, each epoch in an order of its own."""
    shuffle = np.random.default_rng(_SEED)
    for _ in range(_EPOCHS):
        order = shuffle.permutation(len(digits.train_labels))
        for first in range(0, len(order), _BATCH):
            chosen = order[first : first + _BATCH]
            yield (
                gt.from_numpy(digits.train_images[chosen]),
                gt.from_numpy(digits.train_labels[chosen]),
            )


def accuracy(model: DigitNet, digits: Digits) -> float:
    """Return the share of the held-out images that the network gets right."""
    model.eval()
    with gt.no_grad():
        scores = model(gt.from_numpy(digits.test_images))
    model.train()
    right = scores.argmax(1) == gt.from_numpy(digits.test_labels)
    return right.sum().item() / len(digits.test_labels)
