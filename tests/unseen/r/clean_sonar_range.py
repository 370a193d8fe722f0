"""Regresses target range from sonar echoes; batches with a broken ping are skipped by a check of the gradient norm.

TRUTH: when the norm is not finite the loop continues before zero_grad, so NaN stays in every .grad and all later sums are NaN too; after the first broken ping (step 9) every step is skipped and the weights never change again; clear the gradients before continuing.
"""
import torch
from torch import nn
import torch.nn.functional as F


class EchoNet(nn.Module):
    def __init__(self, samples=60, width=16):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, width, 7, stride=2, padding=3), nn.ReLU())
        self.out = nn.Sequential(nn.Flatten(), nn.Linear(width * samples // 2, 1))

    def forward(self, echo):
        return self.out(self.conv(echo.unsqueeze(1))).squeeze(1)


def pings(n, samples=60):
    t = torch.arange(samples)
    delay = torch.randint(8, 50, (n,))
    echo = torch.exp(-((t - delay[:, None]) ** 2) / 8.0) + 0.1 * torch.randn(n, samples)
    return echo, (delay - 29) / 12.0


def batches(echo, target, size, steps, broken_every=10):
    for step in range(steps):
        idx = torch.randint(0, len(echo), (size,))
        x, y = echo[idx].clone(), target[idx]
        if step % broken_every == broken_every - 1:
            x[0, :5] = float("nan")
        yield x, y


def train(net, stream, lr=3e-3, max_norm=5.0):
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    done = skipped = 0
    last = float("nan")
    for x, y in stream:
        loss = F.mse_loss(net(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), max_norm)
        if not torch.isfinite(norm):
            skipped += 1
            opt.zero_grad()
            continue
        opt.step()
        opt.zero_grad()
        done += 1
        last = loss.item()
    return done, skipped, last


def main():
    torch.manual_seed(32)
    echo, target = pings(800)
    net = EchoNet()
    done, skipped, last = train(net, batches(echo[:700], target[:700], 32, steps=200))
    with torch.no_grad():
        test = F.mse_loss(net(echo[700:]), target[700:]).item()
    print(f"steps {done} skipped {skipped} last loss {last:.4f} test mse {test:.4f} variance {target.var():.4f}")


if __name__ == "__main__":
    main()
