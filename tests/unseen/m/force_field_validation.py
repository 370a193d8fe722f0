"""WRONG. The first training epoch runs, then the validation stops with "element 0 of tensors does not require grad and does not have a grad_fn" inside the forward of the model.
TRUTH: the forces are the derivative of the energy with respect to the positions, made by torch.autograd.grad in forward; validate runs under torch.no_grad(), where no graph exists. The validation must run with grad enabled.
THREAD: https://github.com/Lightning-AI/pytorch-lightning/issues/4487
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

HP = {"atoms": 5, "hidden": 32, "epochs": 3, "batch": 32, "lr": 5e-3, "force_weight": 0.5}


def pair_distances(pos):
    n = pos.size(1)
    i, j = torch.triu_indices(n, n, offset=1)
    return (pos[:, i] - pos[:, j]).pow(2).sum(-1).add(1e-6).sqrt()


class EnergyNet(nn.Module):
    """Sum over pairs of a learned function of the distance."""

    def __init__(self, hidden, centers=12):
        super().__init__()
        self.register_buffer("mu", torch.linspace(0.3, 4.0, centers))
        self.net = nn.Sequential(nn.Linear(centers, hidden), nn.SiLU(), nn.Linear(hidden, 1))

    def forward(self, pos):
        d = pair_distances(pos)
        rbf = torch.exp(-4 * (d.unsqueeze(-1) - self.mu) ** 2)
        return self.net(rbf).squeeze(-1).sum(1)


class ForceField(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.energy = EnergyNet(hp["hidden"])

    def forward(self, pos):
        pos = pos.detach().requires_grad_(True)
        energy = self.energy(pos)
        grad = torch.autograd.grad(energy.sum(), pos, create_graph=self.training)[0]
        return energy, -grad


def reference(pos):
    pos = pos.clone().requires_grad_(True)
    d = pair_distances(pos)
    e = (torch.exp(-d) - 0.4 * torch.exp(-(d - 1.5) ** 2)).sum(1)
    f = -torch.autograd.grad(e.sum(), pos)[0]
    return e.detach(), f.detach()


def make_loader(n, hp, shuffle):
    pos = 1.2 * torch.randn(n, hp["atoms"], 3)
    e, f = reference(pos)
    return DataLoader(TensorDataset(pos, e, f), hp["batch"], shuffle=shuffle)


class Meter:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def update(self, value, n):
        self.total += value * n
        self.n += n

    @property
    def avg(self):
        return self.total / max(1, self.n)


def train_epoch(model, loader, optimizer, w):
    model.train()
    meter = Meter()
    for pos, e, f in loader:
        pe, pf = model(pos)
        loss = F.mse_loss(pe, e) + w * F.mse_loss(pf, f)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss.item(), len(pos))
    return meter.avg


@torch.no_grad()  # CULPRIT
def validate(model, loader):
    model.eval()
    e_mae, f_mae = Meter(), Meter()
    for pos, e, f in loader:
        pe, pf = model(pos)
        e_mae.update((pe - e).abs().mean().item(), len(pos))
        f_mae.update((pf - f).abs().mean().item(), len(pos))
    return e_mae.avg, f_mae.avg


def main():
    train = make_loader(320, HP, True)
    val = make_loader(96, HP, False)
    model = ForceField(HP)
    optimizer = torch.optim.Adam(model.parameters(), lr=HP["lr"])
    for epoch in range(HP["epochs"]):
        loss = train_epoch(model, train, optimizer, HP["force_weight"])
        print(f"epoch {epoch} train loss {loss:.4f}")
        e_mae, f_mae = validate(model, val)
        print(f"epoch {epoch} energy mae {e_mae:.4f} force mae {f_mae:.4f}")


if __name__ == "__main__":
    main()
