"""VQ-VAE: straight-through quantisation z + (q - z).detach(), commitment loss and a codebook buffer moved by exponential averages."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class EMAQuantizer(nn.Module):
    def __init__(self, n_codes=16, dim=4, decay=0.95):
        super().__init__()
        self.decay = decay
        self.register_buffer("codebook", torch.randn(n_codes, dim))
        self.register_buffer("count", torch.ones(n_codes))
        self.register_buffer("total", self.codebook.clone())

    def forward(self, z):
        idx = torch.cdist(z.detach(), self.codebook).argmin(1)
        q = self.codebook[idx]
        if self.training:
            with torch.no_grad():
                onehot = F.one_hot(idx, len(self.codebook)).type_as(z)
                self.count.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
                self.total.mul_(self.decay).add_(onehot.t() @ z, alpha=1 - self.decay)
                self.codebook.copy_(self.total / self.count.clamp(min=1e-2).unsqueeze(1))
        commit = F.mse_loss(z, q.detach())
        return z + (q - z).detach(), commit, idx


class VQVAE(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 48), nn.ReLU(), nn.Linear(48, 4))
        self.vq = EMAQuantizer()
        self.dec = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, d))

    def forward(self, x):
        q, commit, idx = self.vq(self.enc(x))
        return self.dec(q), commit, idx


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    protos = torch.randn(8, 24)
    x = protos[torch.randint(0, 8, (1600,))] + 0.1 * torch.randn(1600, 24)
    loader = DataLoader(TensorDataset(x), batch_size=64, shuffle=True)
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(20):
        model.train()
        for (xb,) in loader:
            recon, commit, _ = model(xb)
            loss = F.mse_loss(recon, xb) + 0.25 * commit
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 5 == 4:
            model.eval()
            with torch.no_grad():
                recon, commit, idx = model(x)
            print("epoch %d recon %.4f commit %.4f codes used %d" % (
                epoch, F.mse_loss(recon, x).item(), commit.item(), idx.unique().numel()))


if __name__ == "__main__":
    main()
