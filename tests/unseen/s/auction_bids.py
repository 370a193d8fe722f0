"""Models which bid bracket a bidder chooses at an auction, with a choice of objectives.

TRUTH: the log-likelihood is registered with maximise=False, so the trainer minimises it: it is never above 0 and has no least value, and the loss runs to minus infinity; register it with maximise=True (the trainer then negates it).
"""
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.distributions import Categorical


@dataclass(frozen=True)
class Objective:
    score: Callable
    maximise: bool

    def loss(self, logits, brackets):
        value = self.score(logits, brackets)
        return -value if self.maximise else value


def log_likelihood(logits, brackets):
    return Categorical(logits=logits).log_prob(brackets).mean()


def brier(logits, brackets):
    onehot = nn.functional.one_hot(brackets, logits.shape[-1]).float()
    return (logits.softmax(-1) - onehot).square().sum(-1).mean()


def expected_hits(logits, brackets):
    return logits.softmax(-1).gather(1, brackets[:, None]).mean()


OBJECTIVES = {
    "hits": Objective(expected_hits, maximise=True),
    "brier": Objective(brier, maximise=False),
    "likelihood": Objective(log_likelihood, maximise=False),  # CULPRIT
}


class BidderModel(nn.Module):
    def __init__(self, lots, traits, brackets):
        super().__init__()
        self.lot = nn.Embedding(lots, 8)
        self.mix = nn.Sequential(nn.Linear(8 + traits, 32), nn.Tanh(), nn.Linear(32, brackets))

    def forward(self, lot, traits):
        return self.mix(torch.cat([self.lot(lot), traits], dim=-1))


def hold_auction(n, lots, traits, brackets, seed):
    g = torch.Generator().manual_seed(seed)
    lot = torch.randint(lots, (n,), generator=g)
    t = torch.randn(n, traits, generator=g)
    taste = torch.randn(lots, brackets, generator=g)
    pull = torch.randn(traits, brackets, generator=g)
    gumbel = -torch.rand(n, brackets, generator=g).clamp(1e-6, 1 - 1e-6).log().neg().log()
    return lot, t, (2 * taste[lot] + t @ pull + 0.5 * gumbel).argmax(1)


def train(objective_name, steps=60):
    torch.manual_seed(14)
    lot, traits, brackets = hold_auction(400, lots=10, traits=4, brackets=5, seed=3)
    objective = OBJECTIVES[objective_name]
    model = BidderModel(10, 4, 5)
    opt = torch.optim.Adam(model.parameters(), lr=2e-2)
    for step in range(steps):
        logits = model(lot, traits)
        loss = objective.loss(logits, brackets)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0 or step == steps - 1:
            agree = (logits.argmax(1) == brackets).float().mean().item()
            print(f"step {step:2d}  {objective_name} loss {loss.item():.4f}  agreement {agree:.3f}")


if __name__ == "__main__":
    train("likelihood")
