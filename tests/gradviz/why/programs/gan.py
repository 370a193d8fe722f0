"""A small adversarial pair on points of a ring, with an average of the generator.

Planted: the style branch is detached, the spare head is never called, every loss of
the generator is kept with its graph, and the discriminator's bias is in no optimizer.
"""

import math

import torch
from torch import nn

torch.manual_seed(3)
BATCH, LATENT, STEPS = 8, 4, 3


class Generator(nn.Module):
    """Points from noise; a style shifts the hidden layer."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(LATENT, 16)
        self.style = nn.Linear(LATENT, 16)
        self.out = nn.Linear(16, 2)
        self.spare = nn.Linear(16, 2)  # @spare

    def forward(self, noise):
        hidden = self.body(noise)
        shift = torch.tanh(self.style(noise))  # @style
        shift = shift.detach()  # @cut
        hidden = torch.relu(hidden + shift)
        return self.out(hidden)  # @out


class Discriminator(nn.Module):
    """Scores: above zero for points of the ring."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 16)
        self.score = nn.Linear(16, 1)

    def forward(self, points):
        hidden = self.body(points)
        hidden = nn.functional.leaky_relu(hidden, 0.2)
        return self.score(hidden)  # @score


def ring(count):
    """Points of a circle, with a little noise."""
    angles = torch.rand(count) * 2 * math.pi
    points = torch.stack([torch.cos(angles), torch.sin(angles)], dim=1)
    return points + 0.05 * torch.randn(count, 2)


def of_scores(scores, real):
    """The loss of a score that should be above zero, or below it."""
    if real:
        return nn.functional.softplus(-scores).mean()  # @real
    return nn.functional.softplus(scores).mean()  # @fake


def follow(average, model, rate=0.9):
    """Let the parameters of an average follow those of a model."""
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
            slow.mul_(rate)
            slow.add_(fast, alpha=1 - rate)  # @follow


generator = Generator()
average = Generator()
discriminator = Discriminator()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-2)  # @optimizer_g
held = [discriminator.body.weight, discriminator.body.bias, discriminator.score.weight]
optimizer_d = torch.optim.Adam(held, lr=1e-2)  # @optimizer_d

history = []
for _ in range(STEPS):
    real = ring(BATCH)
    noise = torch.randn(BATCH, LATENT)

    # the discriminator
    fake = generator(noise)  # @fake
    fixed = fake.detach()  # @fixed
    on_real = of_scores(discriminator(real), True)
    on_fake = of_scores(discriminator(fixed), False)
    loss_d = on_real + on_fake  # @loss_d
    optimizer_d.zero_grad()
    loss_d.backward()  # @backward_d
    optimizer_d.step()  # @step_d

    # the generator
    made = generator(noise)  # @made
    scores = discriminator(made)
    loss_g = of_scores(scores, True)
    optimizer_g.zero_grad()
    loss_g.backward()  # @backward_g
    optimizer_g.step()  # @step_g
    follow(average, generator)

    history.append(loss_g)

winners = scores.argmax(dim=0)  # @winners
mean = sum(each.item() for each in history) / len(history)
print(f"mean loss of the generator {mean:.3f}, best {int(winners)}")
