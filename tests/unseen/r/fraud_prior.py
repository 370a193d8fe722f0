"""Scores card payments for fraud, with biases that start the scores at the rate of fraud.

TRUTH: the prior bias of about -4.6 is written into every linear layer instead of the last one, so all hidden ReLUs are 0 for every payment and the network below gets no gradient (share of active units is 0, scores never separate); set it on the last layer only.
"""
import math

import torch
from torch import nn


class FraudScorer(nn.Module):
    def __init__(self, features=10, hidden=32, fraud_rate=0.01):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(features, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
        )
        self.score = nn.Linear(hidden, 1)
        self.start_at(fraud_rate)

    def start_at(self, rate):
        prior = -math.log((1 - rate) / rate)
        for layer in self.modules():  # CULPRIT
            if isinstance(layer, nn.Linear):
                nn.init.constant_(layer.bias, prior)

    def forward(self, payment):
        return self.score(self.trunk(payment)).squeeze(-1)

    @torch.no_grad()
    def active_share(self, payment):
        return (self.trunk(payment) > 0).float().mean().item()


class Payments:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def batch(self, n):
        x = torch.rand(n, 10, generator=self.generator) * 2 - 1
        fraud = (x[:, 0] + x[:, 1] * x[:, 2] > 1.2).float()
        return x, fraud


class Trainer:
    def __init__(self, model, data, lr=5e-3):
        self.model, self.data = model, data
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(5.0))

    def fit(self, steps):
        for step in range(steps):
            x, fraud = self.data.batch(512)
            loss = self.loss(self.model(x), fraud)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if step % 40 == 0 or step == steps - 1:
                print(f"step {step:3d} loss {loss.item():.4f} active {self.model.active_share(x):.3f}")


if __name__ == "__main__":
    torch.manual_seed(77)
    Trainer(FraudScorer(), Payments(seed=78)).fit(steps=200)
