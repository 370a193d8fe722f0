"""A VQ-VAE; then its decoder alone is tuned further, with the same loss function."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
centers = torch.randn(8, 12)


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
        self.codebook = nn.Embedding(16, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 12))

    def forward(self, x):
        z = self.encoder(x)
        index = torch.cdist(z, self.codebook.weight).argmin(1)
        q = self.codebook(index)
        codes = F.mse_loss(q, z.detach())
        commit = F.mse_loss(z, q.detach())
        recon = self.decoder(z + (q - z).detach())
        return recon, codes, commit


def fit(net, parameters, steps, lr):
    optimizer = torch.optim.Adam(parameters, lr=lr)
    for step in range(steps):
        x = centers[torch.randint(8, (64,))] + 0.1 * torch.randn(64, 12)
        recon, codes, commit = net(x)
        loss = F.mse_loss(recon, x) + codes + 0.25 * commit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


net = VQVAE()
fit(net, net.parameters(), 200, 3e-3)
net.encoder.requires_grad_(False)
net.codebook.requires_grad_(False)
fit(net, net.decoder.parameters(), 100, 1e-3)
