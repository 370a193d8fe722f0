"""An actor and a critic on a corridor: reach the right end.

Planted: the returns went through NumPy, the exploration width is drawn with a sample,
the critic's scale is stepped by nobody, and one loss divides by zero in the last step.
"""

import numpy as np
import torch
from torch import nn

torch.manual_seed(11)
LENGTH, EPISODES, GAMMA = 5, 3, 0.9


class Actor(nn.Module):
    """The mean of a move, and how far to explore around it."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(1, 8)
        self.mean = nn.Linear(8, 1)
        self.width = nn.Parameter(torch.tensor([0.5]))

    def forward(self, place):
        hidden = torch.tanh(self.body(place))
        return self.mean(hidden)

    def move(self, mean):
        """A move around the mean."""
        with torch.no_grad():  # @no_grad
            return torch.normal(mean, self.width.exp())  # @normal


class Critic(nn.Module):
    """The value of a place."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(1, 8)
        self.value = nn.Linear(8, 1)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, place):
        hidden = torch.tanh(self.body(place))  # @critic_body
        return self.value(hidden) * self.scale


class Bonus(nn.Module):
    """A learned bonus for every step."""

    def __init__(self):
        super().__init__()
        self.amount = nn.Parameter(torch.tensor([0.1, 0.2]))

    def forward(self, rewards):
        amount = self.amount.detach().numpy()  # @numpy
        added = np.asarray(rewards, dtype="float32") + amount.sum()
        return torch.from_numpy(added.astype("float32"))  # @from_numpy


def discounted(rewards):
    """The return of every step."""
    found, later = [], 0.0
    for reward in reversed(list(rewards)):
        later = reward + GAMMA * later
        found.append(later)
    return torch.stack(found[::-1])


actor, critic, bonus = Actor(), Critic(), Bonus()
optimizer_a = torch.optim.SGD(actor.parameters(), lr=0.01)
learning = [*critic.body.parameters(), *critic.value.parameters()]
optimizer_c = torch.optim.SGD(learning, lr=0.01)  # @optimizer_c
optimizer_b = torch.optim.SGD(bonus.parameters(), lr=0.01)  # @optimizer_b

for _ in range(EPISODES):
    place, rewards, means, moves, places = 0.0, [], [], [], []
    for _ in range(LENGTH):
        here = torch.tensor([[place]])
        mean = actor(here)  # @mean
        move = actor.move(mean)  # @move
        place = place + 0.1 * float(move)
        rewards.append(-abs(1.0 - place))
        means.append(mean)
        moves.append(move)
        places.append(here)
    returns = discounted(bonus(rewards))  # @returns
    values = critic(torch.cat(places)).squeeze(1)  # @values
    advantage = (returns - values).detach()  # @advantage
    distance = (torch.cat(moves) - torch.cat(means)) ** 2  # @distance
    loss_a = (distance.squeeze(1) * advantage).mean()  # @loss_a
    loss_c = ((values - returns) ** 2).mean()  # @loss_c
    optimizer_a.zero_grad()
    optimizer_c.zero_grad()
    loss_a.backward()  # @backward_a
    loss_c.backward()  # @backward_c
    optimizer_a.step()  # @step_a
    optimizer_c.step()  # @step_c

print(f"at {place:.2f}, {loss_a.item():.3f}, {loss_c.item():.3f}")
