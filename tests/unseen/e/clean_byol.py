"""BYOL on vectors: a deep-copied target network that never gets a gradient and follows by in-place EMA (buffers copied), targets under no_grad, and a linear probe on frozen features at the end."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
torch.set_num_threads(1)


def augment(x):
    return x * (1 + 0.1 * torch.randn(len(x), 1)) + 0.6 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self, dim=20, out=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, 64), nn.BatchNorm1d(64), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, out))

    def forward(self, x):
        return self.projector(self.backbone(x))


class BYOL(nn.Module):
    def __init__(self, tau=0.98):
        super().__init__()
        self.online = Encoder()
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.predictor = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
        self.tau = tau

    def forward(self, a, b):
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        return 2 - F.cosine_similarity(pa, tb).mean() - F.cosine_similarity(pb, ta).mean()

    @torch.no_grad()
    def update_target(self):
        for po, pt in zip(self.online.parameters(), self.target.parameters()):
            pt.data.mul_(self.tau).add_(po.data, alpha=1 - self.tau)
        for bo, bt in zip(self.online.buffers(), self.target.buffers()):
            bt.copy_(bo)


def main():
    centers = 1.2 * torch.randn(5, 20)
    y = torch.randint(0, 5, (1000,))
    x = centers[y] + 0.5 * torch.randn(1000, 20)
    loader = DataLoader(TensorDataset(x), batch_size=100, shuffle=True)
    model = BYOL()
    trainable = list(model.online.parameters()) + list(model.predictor.parameters())
    optimizer = torch.optim.Adam(trainable, lr=2e-3)
    for epoch in range(12):
        for (xb,) in loader:
            loss = model(augment(xb), augment(xb))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            model.update_target()
        if epoch % 4 == 3:
            print("epoch %d byol loss %.4f" % (epoch, loss.item()))
    model.eval()
    with torch.no_grad():
        feats = model.online.backbone(x)
    probe = nn.Linear(64, 5)
    probe_opt = torch.optim.Adam(probe.parameters(), lr=2e-2)
    for _ in range(100):
        loss = F.cross_entropy(probe(feats), y)
        probe_opt.zero_grad()
        loss.backward()
        probe_opt.step()
    print("linear probe accuracy %.3f" % (probe(feats).argmax(1) == y).float().mean().item())


if __name__ == "__main__":
    main()
