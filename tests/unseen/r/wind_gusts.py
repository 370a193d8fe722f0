"""Predicts the distribution of wind gusts as a Weibull law whose scale and shape depend on the weather.

TRUTH: the shape is read through .data, which cuts it off, so the rows of the last layer that make it get zero gradient and never learn (shapes stay where they started, likelihood worse); drop .data.
"""
import torch
from torch import nn
from torch.distributions import Weibull


class GustModel(nn.Module):
    def __init__(self, inputs=3, hidden=24):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, hidden), nn.SiLU())
        self.head = nn.Linear(hidden, 2)

    def forward(self, weather):
        raw = self.head(self.body(weather))
        scale = nn.functional.softplus(raw[:, 0]) + 0.1
        shape = nn.functional.softplus(raw.data[:, 1]) + 0.5  # CULPRIT
        return Weibull(scale, shape)


class GustData:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def batch(self, n):
        weather = torch.rand(n, 3, generator=self.generator)
        scale = 1 + 4 * weather[:, 0]
        shape = 1.5 + 3 * weather[:, 1]
        uniform = torch.rand(n, generator=self.generator).clamp(1e-4, 1 - 1e-4)
        gust = scale * (-torch.log(uniform)) ** (1 / shape)
        return weather, gust


def negative_log_likelihood(law, gust):
    return -law.log_prob(gust).mean()


def train(model, data, steps, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for step in range(steps):
        weather, gust = data.batch(128)
        loss = negative_log_likelihood(model(weather), gust)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 75 == 0 or step == steps - 1:
            rows = model.head.weight.grad.norm(dim=1).tolist()
            print(f"{step:3d} loss {loss.item():.3f} gradient of the rows {rows[0]:.4f} {rows[1]:.4f}")


if __name__ == "__main__":
    torch.manual_seed(31)
    model, data = GustModel(), GustData(seed=32)
    train(model, data, steps=300, lr=1e-2)
    with torch.no_grad():
        calm, stormy = model(torch.tensor([[0.5, 0.1, 0.5], [0.5, 0.9, 0.5]])).concentration.tolist()
    print(f"shape {calm:.2f} and {stormy:.2f}, made with 1.80 and 4.20")
