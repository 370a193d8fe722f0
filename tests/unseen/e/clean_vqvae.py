"""VQ-VAE: argmin over the codebook, straight-through estimator, codebook and commitment losses with detach on opposite sides."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
torch.set_num_threads(1)


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes=16, dim=4, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.codebook.weight, -0.5, 0.5)
        self.beta = beta

    def forward(self, z):
        flat = z.reshape(-1, z.size(-1))
        dist = torch.cdist(flat.detach(), self.codebook.weight.detach())
        idx = dist.argmin(dim=1)
        q = self.codebook(idx).view_as(z)
        codebook_loss = F.mse_loss(q, z.detach())
        commitment = F.mse_loss(z, q.detach())
        q = z + (q - z).detach()
        return q, codebook_loss + self.beta * commitment, idx


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
        self.vq = VectorQuantizer()
        self.decoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        z = self.encoder(x).view(len(x), 4, 4)
        q, vq_loss, idx = self.vq(z)
        return self.decoder(q.flatten(1)), vq_loss, idx


def main():
    t = torch.linspace(0, 6.28, 16)
    phase = 6.28 * torch.rand(1500, 1)
    x = torch.sin(t + phase)
    loader = DataLoader(TensorDataset(x), batch_size=50, shuffle=True)
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(25):
        rec_sum = 0.0
        for (xb,) in loader:
            recon, vq_loss, idx = model(xb)
            rec = F.mse_loss(recon, xb)
            loss = rec + vq_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rec_sum += rec.item()
        if epoch % 6 == 0:
            print("epoch %d reconstruction %.4f codes used %d" % (epoch, rec_sum / len(loader), idx.unique().numel()))


if __name__ == "__main__":
    main()
