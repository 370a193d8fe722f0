"""Stack Overflow, "VAE with torch.distributions: encoder collapses to the prior immediately"
Symptom: mu is 0 and sigma is 1 for each input after training, reconstructions are the mean image.
EXPECT: runs
TRUTH: Normal.sample() is not differentiable, the encoder receives only the KL gradient. Use rsample()."""
import torch
import torch.nn as nn
from torch.distributions import Normal, Independent, kl_divergence

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, d, z):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 32), nn.Tanh(), nn.Linear(32, 2 * z))

    def forward(self, x):
        loc, raw = self.net(x).chunk(2, -1)
        return Independent(Normal(loc, nn.functional.softplus(raw) + 1e-3), 1)


class Decoder(nn.Module):
    def __init__(self, z, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(z, 32), nn.Tanh(), nn.Linear(32, d))

    def forward(self, z):
        return Independent(Normal(self.net(z), 0.5), 1)


def elbo(enc, dec, x):
    q = enc(x)
    z = q.sample()  # CULPRIT
    prior = Independent(Normal(torch.zeros_like(z), 1.0), 1)
    return (dec(z).log_prob(x) - kl_divergence(q, prior)).mean()


enc, dec = Encoder(12, 2), Decoder(2, 12)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=3e-3)
x = torch.randn(300, 2) @ torch.randn(2, 12)
for it in range(400):
    loss = -elbo(enc, dec, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
q = enc(x)
print("loss", loss.item(), "spread of mu", q.mean.std(0).mean().item(), "mse", (dec(q.mean).mean - x).pow(2).mean().item())
