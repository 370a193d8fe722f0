"""GitHub issue (VQ-VAE implementation), "Encoder does not get better, perplexity is low"
Symptom: reconstruction loss stays high; the encoder moves only through the commitment loss.
EXPECT: runs
TRUTH: The straight-through estimator is the wrong way round: q + (z - q).detach() sends the gradient to the codebook and
uses the continuous value. It must be z + (q - z).detach()."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Quantizer(nn.Module):
    def __init__(self, k, d, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(k, d)
        nn.init.normal_(self.codebook.weight)
        self.beta = beta

    def forward(self, z):
        idx = torch.cdist(z, self.codebook.weight).argmin(1)
        q = self.codebook(idx)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        q = q + (z - q).detach()  # CULPRIT
        return q, loss, idx


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
        self.vq = Quantizer(16, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        q, vq_loss, idx = self.vq(self.enc(x))
        return self.dec(q), vq_loss, idx


centers = 2 * torch.randn(8, 10)
x = centers[torch.randint(0, 8, (400,))] + 0.1 * torch.randn(400, 10)
net = VQVAE()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(400):
    rec, vq_loss, idx = net(x)
    loss = F.mse_loss(rec, x) + vq_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
hard = net.dec(net.vq.codebook(idx))
print("loss", loss.item(), "recon from codes", F.mse_loss(hard, x).item(), "codes", idx.unique().numel())
