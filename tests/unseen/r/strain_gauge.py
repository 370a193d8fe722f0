"""Classifies bridge load cases from strain gauge readings under float16 autocast, with an energy-normalised hidden layer.

TRUTH: the hidden layer's squares (readings are in the hundreds) are summed in float16 and exceed 65504, so the energy is inf and the normalised features all become 0; no error, loss stays at log 4 = 1.386 and accuracy at chance; compute the energy in float32.
"""
import argparse

import torch
from torch import nn
import torch.nn.functional as F


class EnergyNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, h):
        energy = (h * h).sum(-1, keepdim=True)  # CULPRIT
        return h * torch.rsqrt(energy / h.shape[-1] + self.eps) * self.gain


class LoadNet(nn.Module):
    def __init__(self, gauges=16, width=64, cases=4):
        super().__init__()
        self.inp = nn.Linear(gauges, width)
        self.norm = EnergyNorm(width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, cases)

    def forward(self, x):
        h = self.norm(self.inp(x))
        return self.out(F.relu(self.mid(F.relu(h))))


def readings(n, gauges=16):
    modes = torch.randn(4, gauges)
    y = torch.randint(0, 4, (n,))
    strain = 250.0 * (modes[y] * (0.5 + torch.rand(n, 1)) + 0.5 * torch.randn(n, gauges))
    return strain, y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.manual_seed(19)
    x, y = readings(900)
    net = LoadNet()
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    for step in range(args.steps):
        idx = torch.randint(0, 700, (64,))
        with torch.autocast("cpu", dtype=torch.float16):
            logits = net(x[idx])
        loss = F.cross_entropy(logits.float(), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(step, loss.item())
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.float16):
        acc = (net(x[700:]).argmax(-1) == y[700:]).float().mean().item()
    print("final", loss.item(), "accuracy", acc)


if __name__ == "__main__":
    main()
