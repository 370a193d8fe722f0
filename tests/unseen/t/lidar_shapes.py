"""Transfers a point-cloud classifier from a clean scanner to a rough one, with fixed batch norm.

TRUTH: `train` wants to fix the batch norm layers by momentum 0, but in
training mode these still normalise with each batch; only the update of the
statistics stops. The net fits to batch statistics of the new scanner and is
evaluated with the old ones, and fails there. Put the layers into evaluation
mode.
"""
import math

import torch
from torch import nn
import torch.nn.functional as F

SHAPES = ["sphere", "box", "pole", "plane"]


def surface(kind, n, g):
    p = torch.randn(n, 3, generator=g)
    if kind == 0:
        return p / p.norm(dim=1, keepdim=True)
    if kind == 1:
        return p / p.abs().amax(dim=1, keepdim=True)
    if kind == 2:
        ring = p[:, :2] / p[:, :2].norm(dim=1, keepdim=True) * 0.5
        return torch.cat([ring, p[:, 2:].clamp(-1, 1)], dim=1)
    return torch.cat([p[:, :2].clamp(-1, 1), 0.1 * p[:, 2:]], dim=1)


class Scanner:
    def __init__(self, seed, scale=1.0, jitter=0.02, shift=0.0):
        self.g = torch.Generator().manual_seed(seed)
        self.scale, self.jitter, self.shift = scale, jitter, shift

    def __call__(self, clouds, points=48):
        y = torch.randint(0, len(SHAPES), (clouds,), generator=self.g)
        x = torch.stack([surface(k, points, self.g) for k in y.tolist()])
        a = 2 * math.pi * torch.rand(clouds, generator=self.g)
        zero, one = torch.zeros_like(a), torch.ones_like(a)
        turn = torch.stack([a.cos(), -a.sin(), zero, a.sin(), a.cos(), zero, zero, zero, one], 1).view(-1, 3, 3)
        x = x @ turn * self.scale + self.shift
        return x + self.jitter * torch.randn(x.shape, generator=self.g), y


class PointNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.point = nn.Sequential(
            nn.Conv1d(3, 24, 1, bias=False), nn.BatchNorm1d(24), nn.ReLU(),
            nn.Conv1d(24, 48, 1, bias=False), nn.BatchNorm1d(48), nn.ReLU(),
        )
        self.cloud = nn.Sequential(nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, classes))
        self.fixed_norm = False

    def train(self, mode=True):
        super().train(mode)
        if self.fixed_norm:
            for layer in self.point:
                if isinstance(layer, nn.BatchNorm1d):
                    layer.momentum = 0.0  # CULPRIT
        return self

    def forward(self, clouds):
        return self.cloud(self.point(clouds.transpose(1, 2)).amax(-1))


def fit(model, scanner, steps, lr, test):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for step in range(1, steps + 1):
        model.train()
        x, y = scanner(32)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % (steps // 3) == 0:
            yield step, loss.item(), accuracy(model, *test)


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return model(x).argmax(1).eq(y).float().mean().item()


def main():
    torch.manual_seed(4)
    clean, rough = Scanner(1), Scanner(2, scale=3.0, jitter=0.2, shift=2.0)
    test_clean, test_rough = Scanner(3)(200), Scanner(4, scale=3.0, jitter=0.2, shift=2.0)(200)
    model = PointNet(len(SHAPES))
    for step, loss, hit in fit(model, clean, 90, 5e-3, test_clean):
        print(f"clean scanner {step:4d} loss {loss:.4f} accuracy {hit:.3f}")
    print(f"before transfer accuracy {accuracy(model, *test_rough):.3f}")
    model.fixed_norm = True
    for step, loss, hit in fit(model, rough, 120, 3e-3, test_rough):
        print(f"rough scanner {step:4d} loss {loss:.4f} accuracy {hit:.3f}")


if __name__ == "__main__":
    main()
