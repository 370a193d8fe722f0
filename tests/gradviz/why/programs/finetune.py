"""Fine-tuning: a frozen backbone, a new head, and a binary layer of our own.

Planted: the gate's Function gives a gradient of zeros, the temperature's loss takes
the logarithm of zero, and in the end a batch of another width meets the model.
"""

import torch
from torch import nn

torch.manual_seed(13)
BATCH, SIZE, CLASSES, STEPS = 8, 6, 3, 2


class Binary(torch.autograd.Function):
    """One where the input is above zero; the gradient goes through as it is."""

    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        return grad.clone()


class Closed(torch.autograd.Function):
    """The same, and no gradient comes through."""

    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        return grad * 0.0  # @gives


class Backbone(nn.Module):
    """What was trained before."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(SIZE, 10)  # @width
        self.second = nn.Linear(10, 10)

    def forward(self, x):
        x = torch.relu(self.first(x))  # @use
        return torch.relu(self.second(x))


class Head(nn.Module):
    """Features, gated, and the scores of the classes."""

    def __init__(self):
        super().__init__()
        self.pick = nn.Linear(10, 10)
        self.gate = nn.Linear(10, 10)
        self.scores = nn.Linear(10, CLASSES)

    def forward(self, features):
        picked = Binary.apply(self.pick(features))  # @binary
        gated = Closed.apply(self.gate(features))  # @closed
        return self.scores(features * picked + gated)


class Model(nn.Module):
    """Both together, with a temperature."""

    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.head = Head()
        self.temperature = nn.Parameter(torch.zeros(1))  # @temperature

    def forward(self, x):
        features = self.backbone(x)  # @features
        return self.head(features)


def freeze(module):
    """Keep a module as it is."""
    for parameter in module.parameters():
        parameter.requires_grad_(False)  # @freeze


model = Model()
freeze(model.backbone)
trained = [each for each in model.parameters() if each.requires_grad]
optimizer = torch.optim.SGD(trained, lr=0.1)  # @optimizer
idle = torch.optim.SGD(model.backbone.parameters(), lr=0.1)  # @idle

x = torch.randn(BATCH, SIZE)
y = torch.randint(0, CLASSES, (BATCH,))
for _ in range(STEPS):
    logits = model(x)  # @logits
    loss = nn.functional.cross_entropy(logits, y)  # @loss
    optimizer.zero_grad()
    loss.backward()  # @backward
    optimizer.step()  # @step

penalty = torch.sqrt(model.temperature).log().sum()  # @penalty
penalty.backward()  # @backward_penalty

late = torch.randn(BATCH, SIZE + 1)  # @late
wide = late * 2.0  # @wide
model(wide)  # @failed
