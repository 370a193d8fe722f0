"""LianpoWang/SLIIF#13, "RESMLPS submodules not registered as nn.ModuleList"
Symptom: model.parameters() has far fewer parameters than expected and the reconstruction is worse than in the paper.
EXPECT: runs
TRUTH: the sub-MLPs are kept in a plain Python list, so they are not registered and never optimised; use nn.ModuleList.
"""
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
torch.set_num_threads(1)


class RES_MLP(nn.Module):
    def __init__(self, in_dim, out_dim, hidden):
        super().__init__()
        self.inp = nn.Linear(in_dim, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, out_dim)

    def forward(self, x):
        h = torch.relu(self.inp(x))
        h = h + torch.relu(self.mid(h))
        return self.out(h)


class RESMLPS(nn.Module):
    """Several small coordinate MLPs, mixed by a weight that depends on the position."""

    def __init__(self, in_dim=2, feat=8, n_mlps=6, hidden=32):
        super().__init__()
        self.mlps = [RES_MLP(in_dim, feat, hidden) for _ in range(n_mlps)]  # CULPRIT
        self.coord_mlp = nn.Sequential(nn.Linear(in_dim, 16), nn.ReLU(), nn.Linear(16, n_mlps))
        self.expansion = nn.Linear(feat, 1)

    def forward(self, coord):
        weight = torch.softmax(self.coord_mlp(coord), dim=-1)
        feats = torch.stack([mlp(coord) for mlp in self.mlps], dim=1)
        return self.expansion((weight.unsqueeze(-1) * feats).sum(dim=1))


def make_image(side=40):
    axis = torch.linspace(-1, 1, side)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    value = torch.sin(3 * math.pi * xx) * torch.cos(2 * math.pi * yy) + 0.5 * torch.sign(xx + yy)
    return TensorDataset(torch.stack([xx, yy], dim=-1).view(-1, 2), value.reshape(-1, 1))


def psnr(model, dataset):
    coord, value = dataset.tensors
    with torch.no_grad():
        mse = ((model(coord) - value) ** 2).mean()
    return 10 * torch.log10(9.0 / mse).item()


def train(model, dataset, epochs=40, lr=5e-3):
    loader = DataLoader(dataset, batch_size=128, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 15, gamma=0.5)
    criterion = nn.L1Loss()
    for epoch in range(epochs):
        for coord, value in loader:
            loss = criterion(model(coord), value)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        if epoch % 13 == 0 or epoch == epochs - 1:
            print("epoch %d L1 %.4f psnr %.2f" % (epoch, loss.item(), psnr(model, dataset)))


if __name__ == "__main__":
    model = RESMLPS()
    print("parameters:", sum(p.numel() for p in model.parameters()))
    train(model, make_image())
