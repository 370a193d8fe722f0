"""Learns how much flour a bakery orders per weekday from simulated cost, with a random order around a learned level."""
import math
from collections import deque

import torch
from torch import distributions as D
from torch import nn


class OrderPolicy(nn.Module):
    """A log-normal order for each day, from features of the day."""

    def __init__(self, features, hidden=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, hidden), nn.Tanh())
        self.level = nn.Linear(hidden, 1)
        self.spread = nn.Linear(hidden, 1)

    def law(self, day):
        hidden = self.body(day)
        scale = nn.functional.softplus(self.spread(hidden)) + 0.05
        return D.Independent(D.LogNormal(self.level(hidden), scale), 1)

    def propose(self, day, draws):
        law = self.law(day)
        return law.rsample((draws,)), law.entropy()


class Bakery:
    """Demand by weekday, and what it costs to have too little or too much flour."""

    def __init__(self, seed, short=3.0, waste=1.0):
        self.rng = torch.Generator().manual_seed(seed)
        self.short, self.waste = short, waste

    def days(self, count):
        weekday = torch.randint(7, (count,), generator=self.rng)
        angle = weekday * (2 * math.pi / 7)
        features = torch.stack([angle.sin(), angle.cos(), (weekday >= 5).float()], dim=1)
        demand = 2.5 + 1.0 * angle.cos() + 0.8 * (weekday >= 5).float()
        demand = demand + 0.2 * torch.randn(count, generator=self.rng)
        return features, demand.clamp(min=0.2).unsqueeze(-1)

    def cost(self, order, demand):
        gap = order - demand
        return (self.waste * gap.clamp(min=0) + self.short * (-gap).clamp(min=0)).squeeze(-1)


class Planner:
    def __init__(self, policy, bakery, draws=8, bonus=0.02, lr=2e-2):
        self.policy, self.bakery = policy, bakery
        self.draws, self.bonus = draws, bonus
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
        self.recent = deque(maxlen=5)

    def objective(self, day, demand):
        orders, entropy = self.policy.propose(day, self.draws)
        expected = self.bakery.cost(orders, demand).mean()
        return expected - self.bonus * entropy.mean(), expected

    def step(self):
        objective, expected = self.objective(*self.bakery.days(64))
        self.optimizer.zero_grad(set_to_none=True)
        objective.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), 5.0)
        self.optimizer.step()
        self.recent.append(expected.item())
        return sum(self.recent) / len(self.recent)


def main():
    torch.manual_seed(21)
    planner = Planner(OrderPolicy(features=3), Bakery(seed=4))
    for step in range(60):
        cost = planner.step()
        if step % 10 == 9:
            print(f"step {step + 1:3d}  cost per day {cost:.3f}")


if __name__ == "__main__":
    main()
