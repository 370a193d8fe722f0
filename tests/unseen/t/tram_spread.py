"""Predicts tram delays with their uncertainty (mean and log standard deviation), stop by stop.

TRUTH: `mean` is squeezed to (N,), `log_std` stays (N, 1), so that the normal density broadcasts to (N, N): every
stop's spread is fitted to the errors of all stops of the batch. The spread comes out the same for all stops
(no calibration). Squeeze log_std as well.
"""
import math
from dataclasses import dataclass, replace
from typing import Iterator, Tuple

import torch
from torch import Tensor, nn


@dataclass
class DelayBatch:
    numeric: Tensor
    line: Tensor
    delay: Tensor

    def __len__(self):
        return self.delay.shape[0]

    def rows(self, idx: Tensor) -> "DelayBatch":
        return replace(self, numeric=self.numeric[idx], line=self.line[idx], delay=self.delay[idx])


def generate(n: int, lines: int = 6) -> DelayBatch:
    line = torch.randint(lines, (n,))
    hour = torch.rand(n) * 24
    rain = torch.rand(n)
    rush = torch.exp(-((hour - 8) ** 2) / 4) + torch.exp(-((hour - 17) ** 2) / 6)
    mean = 0.6 * rush + 0.2 * line.float() / lines + 0.4 * rain * rush
    std = 0.05 + 0.9 * rush * (0.3 + rain)
    numeric = torch.stack([torch.sin(hour / 24 * 2 * math.pi), torch.cos(hour / 24 * 2 * math.pi), rush, rain], -1)
    return DelayBatch(numeric, line, mean + std * torch.randn(n))


class DelayNet(nn.Module):
    def __init__(self, lines: int, width: int = 32):
        super().__init__()
        self.lines = nn.Embedding(lines, 4)
        self.trunk = nn.Sequential(nn.Linear(8, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.mean_head = nn.Linear(width, 1)
        self.log_std_head = nn.Linear(width, 1)

    def forward(self, batch: DelayBatch) -> Tuple[Tensor, Tensor]:
        h = self.trunk(torch.cat([batch.numeric, self.lines(batch.line)], -1))
        mean = self.mean_head(h).squeeze(-1)
        log_std = self.log_std_head(h).clamp(-5, 3)  # CULPRIT
        return mean, log_std


def gaussian_nll(mean: Tensor, log_std: Tensor, y: Tensor) -> Tensor:
    z = (y - mean) * torch.exp(-log_std)
    return (0.5 * z.square() + log_std + 0.5 * math.log(2 * math.pi)).mean()


def minibatches(data: DelayBatch, size: int) -> Iterator[DelayBatch]:
    for idx in torch.randperm(len(data)).split(size):
        yield data.rows(idx)


@torch.no_grad()
def calibration(net: DelayNet, data: DelayBatch) -> str:
    """Error inside the surest and the least sure fifth, against the predicted spread there."""
    net.eval()
    mean, log_std = net(data)
    net.train()
    std, err = log_std.exp().flatten(), (data.delay - mean).abs()
    order = std.argsort()
    k = len(order) // 5
    text = []
    for name, part in (("surest", order[:k]), ("least sure", order[-k:])):
        rms = err[part].square().mean().sqrt().item()
        text.append(f"{name} fifth: predicted {std[part].mean().item():.3f}, found {rms:.3f}")
    return "; ".join(text)


def train(net: DelayNet, data: DelayBatch, epochs: int) -> None:
    opt = torch.optim.NAdam(net.parameters(), lr=3e-3)
    for epoch in range(epochs):
        total = 0.0
        for batch in minibatches(data, 128):
            loss = gaussian_nll(*net(batch), batch.delay)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(batch)
        if epoch % 3 == 0:
            print(f"epoch {epoch:2d}  nll {total / len(data):.3f}")


if __name__ == "__main__":
    torch.manual_seed(12)
    train_set, test_set = generate(3000), generate(1000)
    net = DelayNet(lines=6)
    train(net, train_set, epochs=16)
    print(calibration(net, test_set))
