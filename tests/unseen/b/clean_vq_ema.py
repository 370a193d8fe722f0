"""GitHub issue (VQ-VAE with EMA codebook), "Codebook is a buffer and the quantised value is detached - how does it learn?"
Symptom: none.
EXPECT: runs
TRUTH: Correct. The codebook is updated by moving averages under no_grad, the encoder by the straight-through estimator and commitment."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class EMAQuantizer(nn.Module):
    def __init__(self, k, d, decay=0.9):
        super().__init__()
        self.decay = decay
        self.register_buffer("embed", torch.randn(k, d))
        self.register_buffer("count", torch.ones(k))
        self.register_buffer("total", self.embed.clone())

    def forward(self, z):
        idx = torch.cdist(z, self.embed).argmin(1)
        q = self.embed[idx]
        if self.training:
            with torch.no_grad():
                onehot = F.one_hot(idx, len(self.embed)).float()
                self.count.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
                self.total.mul_(self.decay).add_(onehot.t() @ z, alpha=1 - self.decay)
                self.embed.copy_(self.total / self.count.clamp_min(1e-3).unsqueeze(1))
        commit = F.mse_loss(z, q.detach())
        return z + (q - z).detach(), commit


enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 10))
vq = EMAQuantizer(32, 4)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=3e-3)
x = 2 * torch.randn(6, 10)[torch.randint(0, 6, (300,))] + 0.1 * torch.randn(300, 10)
for it in range(250):
    q, commit = vq(enc(x))
    rec = F.mse_loss(dec(q), x)
    opt.zero_grad()
    (rec + 0.25 * commit).backward()
    opt.step()
    if it % 80 == 0:
        print(it, rec.item())
print("loss", rec.item())
