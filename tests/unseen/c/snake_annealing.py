"""GitHub issue (text VAE), "KL annealing: KL explodes, samples from the prior are garbage"
Symptom: beta should rise from 0 to 1 over the training, the KL term never matters.
EXPECT: runs
TRUTH: step // total is an integer division and stays 0 until the last step, so beta is 0 throughout. Use / ."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Schedule:
    def __init__(self, total, ceiling=1.0):
        self.total, self.ceiling, self.step = total, ceiling, 0

    def __call__(self):
        beta = min(self.ceiling, self.step // self.total)  # CULPRIT
        self.step += 1
        return beta


class VAE(nn.Module):
    def __init__(self, d=12, z=2):
        super().__init__()
        self.e = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 2 * z))
        self.d = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, x):
        mu, lv = self.e(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        kl = 0.5 * (mu ** 2 + lv.exp() - 1 - lv).sum(1).mean()
        return (self.d(z) - x).pow(2).sum(1).mean(), kl


x = torch.randn(300, 2) @ torch.randn(2, 12)
vae, beta = VAE(), Schedule(400)
opt = torch.optim.Adam(vae.parameters(), lr=3e-3)
for it in range(400):
    rec, kl = vae(x)
    b = beta()
    loss = rec + b * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 100 == 99:
        print(it, "beta", round(b, 3), "rec", rec.item(), "kl", kl.item())
print("loss", loss.item())
