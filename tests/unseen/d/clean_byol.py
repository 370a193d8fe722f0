"""BYOL-like self-supervision: stop-gradient targets from a frozen momentum copy, then a linear probe on detached features."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


class BYOL(nn.Module):
    def __init__(self, tau=0.97):
        super().__init__()
        self.online = mlp(32, 64, 16)
        self.predictor = mlp(16, 32, 16)
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.tau = tau

    @torch.no_grad()
    def update_target(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.mul_(self.tau).add_(o, alpha=1 - self.tau)

    def forward(self, v1, v2):
        loss = 0.0
        for a, b in ((v1, v2), (v2, v1)):
            p = self.predictor(self.online(a))
            with torch.no_grad():
                z = self.target(b)
            loss = loss + (2 - 2 * F.cosine_similarity(p, z, dim=1)).mean()
        return loss


def augment(x):
    return x * (torch.rand_like(x) > 0.2) + 0.2 * torch.randn_like(x)


def make(n, centers):
    y = torch.randint(0, len(centers), (n,))
    return centers[y] + 0.7 * torch.randn(n, 32), y


if __name__ == "__main__":
    torch.manual_seed(3)
    torch.set_num_threads(1)
    centers = torch.randn(5, 32)
    x, y = make(1000, centers)
    loader = DataLoader(TensorDataset(x), batch_size=100, shuffle=True)
    model = BYOL()
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3, weight_decay=1e-4)
    for epoch in range(15):
        for (xb,) in loader:
            loss = model(augment(xb), augment(xb))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            model.update_target()
        if epoch % 5 == 4:
            print("epoch", epoch, "loss %.3f" % loss.item())
    model.eval()
    with torch.no_grad():
        feats = model.online(x)
    probe = nn.Linear(16, 5)
    popt = torch.optim.Adam(probe.parameters(), lr=0.05)
    for step in range(100):
        ploss = F.cross_entropy(probe(feats), y)
        popt.zero_grad()
        ploss.backward()
        popt.step()
    print("probe accuracy %.3f" % (probe(feats).argmax(1) == y).float().mean().item())
