# kind: samples_meet_columns
"""Day-ahead sales curves (24 hours) of shops; large shops count less per unit."""
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

HOURS = 24


class Shops(Dataset):
    """Features of a shop and a day, and its curve over the hours."""

    def __init__(self, days):
        size = torch.rand(days) * 3 + 0.5
        peak = torch.rand(days) * 8 + 9
        width = torch.rand(days) * 2 + 2
        hour = torch.arange(HOURS).float()
        curve = torch.exp(-(((hour - peak[:, None]) / width[:, None]) ** 2))
        self.curve = size[:, None] * (curve + 0.05 * torch.randn(days, HOURS))
        self.size = size
        self.feats = torch.stack([size / 2 - 1, (peak - 13) / 4, width - 3], dim=1)

    def __len__(self):
        return len(self.size)

    def __getitem__(self, i):
        return {"feats": self.feats[i], "curve": self.curve[i], "size": self.size[i]}


class CurveNet(nn.Module):
    def __init__(self, n_feats=3, hidden=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_feats, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, HOURS)
        )

    def forward(self, feats):
        return self.net(feats)


def importance(batch):
    """Inverse squared size, with a mean of one over the batch."""
    w = batch["size"].pow(-2)
    return w / w.mean()


def weighted_error(pred, batch):
    err = (pred - batch["curve"]).pow(2)
    return (importance(batch) * err).mean()  # CULPRIT


def relative_error(model, loader):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for batch in loader:
            err = (model(batch["feats"]) - batch["curve"]).abs().mean(dim=1)
            total += (err / batch["size"]).sum().item()
    model.train()
    return total / len(loader.dataset)


def cosine(step, total):
    return 0.5 * (1 + math.cos(math.pi * step / total))


def main(batch_size=24, epochs=10):
    torch.manual_seed(0)
    train = DataLoader(Shops(480), batch_size=batch_size, shuffle=True, drop_last=True)
    test = DataLoader(Shops(120), batch_size=60)
    model = CurveNet()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: cosine(e, epochs))
    for epoch in range(epochs):
        running = 0.0
        for batch in train:
            loss = weighted_error(model(batch["feats"]), batch)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
        sched.step()
        print(f"epoch {epoch} loss {running / len(train):.4f} relative error {relative_error(model, test):.4f}")


if __name__ == "__main__":
    main()
