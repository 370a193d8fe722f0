"""discuss.pytorch.org, "GAN: Trying to backward through the graph a second time"
Symptom: the discriminator update is fine, the generator's backward raises.
EXPECT: raises RuntimeError
TRUTH: The discriminator loss runs over the generator's graph, its backward frees it, and the generator loss needs it again.
Use fake.detach() in the discriminator step."""
import torch
import torch.nn as nn

torch.manual_seed(0)
bce = nn.BCEWithLogitsLoss()
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3)
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)


def real_batch(n=64):
    a = torch.rand(n, 1) * 6.28
    return torch.cat([a.cos(), a.sin()], 1)


def d_loss(real, fake):
    l_real = bce(D(real), ones)
    l_fake = bce(D(fake), zeros)  # CULPRIT
    return l_real + l_fake


def g_loss(fake):
    return bce(D(fake), ones)


for it in range(100):
    fake = G(torch.randn(64, 4))
    opt_d.zero_grad()
    ld = d_loss(real_batch(), fake)  # CULPRIT
    ld.backward()
    opt_d.step()
    opt_g.zero_grad()
    lg = g_loss(fake)
    lg.backward()
    opt_g.step()
print(ld.item(), lg.item())
