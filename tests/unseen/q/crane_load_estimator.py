"""Estimates sway, height and weight of a crane load at three time scales with one shared network and several losses.

TRUTH: in train_epoch, losses = [[]] * len(names) makes one single list under all names. Each scale appends its total
and each of its unweighted parts to that list, so losses[0] is not the sum of the totals but the sum of everything: the
weight loss (in kilograms squared) enters with factor one instead of 1e-4 and drowns sway and height, and all logged
columns are identical. Fix: losses = [[] for _ in names]. Drawn from BobLiu20/YOLOv3_PyTorch#17.
"""
import argparse
import torch
import torch.nn as nn

NAMES = ["total", "sway", "height", "weight"]
FACTORS = {"sway": 1.0, "height": 1.0, "weight": 1e-4}


def simulate(n, seed, sensors=10):
    g = torch.Generator().manual_seed(seed)
    m = torch.randn(sensors, 6, generator=torch.Generator().manual_seed(5))
    z = torch.randn(n, 6, generator=g)
    x = torch.tanh(0.5 * z @ m.t()) + 0.02 * torch.randn(n, sensors, generator=g)
    sway = torch.sin(1.5 * z[:, 0]) * z[:, 1]
    height = z[:, 2].tanh() + 0.5 * z[:, 3]
    weight = 400 * torch.sin(2 * z[:, 4]) + 300 * z[:, 5]
    return x, torch.stack([sway, height, weight], 1)


class LoadNet(nn.Module):
    def __init__(self, sensors=10, hidden=64, scales=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(sensors, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.heads = nn.ModuleList(nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, 3)) for _ in range(scales))
        self.register_buffer("unit", torch.tensor([1.0, 1.0, 100.0]))

    def forward(self, x):
        h = self.body(x)
        return [head(h) * self.unit for head in self.heads]


class ScaleLoss:
    """Loss of one time scale; returns the weighted total followed by its parts."""

    def __init__(self, smooth):
        self.smooth = smooth

    def __call__(self, pred, target):
        parts = ((pred - self.smooth * target) ** 2).mean(0)
        total = sum(FACTORS[n] * p for n, p in zip(NAMES[1:], parts))
        return total, parts[0], parts[1], parts[2]


def train_epoch(model, criteria, opt, data, batch):
    x, y = data
    log = {n: 0.0 for n in NAMES}
    for idx in torch.randperm(len(x)).split(batch):
        outputs = model(x[idx])
        losses = [[]] * len(NAMES)  # CULPRIT
        for out, criterion in zip(outputs, criteria):
            for j, item in enumerate(criterion(out, y[idx])):
                losses[j].append(item)
        losses = [sum(items) for items in losses]
        loss = losses[0]
        opt.zero_grad()
        loss.backward()
        opt.step()
        for name, value in zip(NAMES, losses):
            log[name] += value.item() * len(idx) / len(x)
    return log


@torch.no_grad()
def r_squared(model, data):
    x, y = data
    pred = model(x)[0]
    return [(1 - ((pred[:, k] - y[:, k]) ** 2).mean() / y[:, k].var()).item() for k in range(3)]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, valid = simulate(4000, 1), simulate(1000, 2)
    model = LoadNet()
    criteria = [ScaleLoss(s) for s in (1.0, 0.8, 0.5)]
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    for epoch in range(args.epochs):
        log = train_epoch(model, criteria, opt, train, args.batch)
        sched.step()
        if epoch % 8 == 7:
            r2 = " ".join(f"{n} {v:.2f}" for n, v in zip(NAMES[1:], r_squared(model, valid)))
            print(f"epoch {epoch} " + " ".join(f"{k} {v:.2f}" for k, v in log.items()) + f" | R2 {r2}")


if __name__ == "__main__":
    main()
