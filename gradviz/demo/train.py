"""Train the demo's network on the digits, and take the step that is recorded."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gradviz.demo.engine import Tensor, nn, optim, torch
from gradviz.demo.model import DigitNet
from gradviz.extras import is_installed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

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
    torch.manual_seed(_SEED)
    model = DigitNet()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    return Training(model, nn.CrossEntropyLoss(), optimizer)


def train(digits: Digits, *, progress: bool = True) -> Training:
    """Return a trained network; the same one on every run."""
    training = start()
    steps = list(batches(digits))
    with _bar(len(steps), shown=progress) as advance:
        for images, labels in steps:
            advance(training.step(images, labels).item())
    return training


@contextmanager
def _bar(total: int, *, shown: bool) -> Generator[Callable[[float], None]]:
    """Yield what moves a bar on by a step with its loss; none without tqdm."""
    if not shown or not is_installed("tqdm"):
        yield lambda _: None
        return
    from tqdm import tqdm

    with tqdm(total=total, desc="training", unit="step") as bar:

        def advance(loss: float) -> None:
            bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
            bar.update()

        yield advance


def batches(digits: Digits) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the batches of all epochs, each epoch in an order of its own."""
    shuffle = np.random.default_rng(_SEED)
    for _ in range(_EPOCHS):
        order = shuffle.permutation(len(digits.train_labels))
        for first in range(0, len(order), _BATCH):
            chosen = order[first : first + _BATCH]
            yield (
                torch.from_numpy(digits.train_images[chosen]),
                torch.from_numpy(digits.train_labels[chosen]),
            )


def accuracy(model: DigitNet, digits: Digits) -> float:
    """Return the share of the held-out images that the network gets right."""
    model.eval()
    with torch.no_grad():
        scores = model(torch.from_numpy(digits.test_images))
    model.train()
    right = scores.argmax(1) == torch.from_numpy(digits.test_labels)
    return right.sum().item() / len(digits.test_labels)
