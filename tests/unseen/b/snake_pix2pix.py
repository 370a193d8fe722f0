"""GitHub issue (pix2pix fork), "Discriminator accuracy at 50 percent for ever, D loss constant at the start value"
Symptom: D's parameters do not move; G seems to be trained twice per iteration.
EXPECT: runs
TRUTH: The second optimizer was copied and holds the generator's parameters, so nothing steps D. Build it with D.parameters()."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Trainer:
    def __init__(self):
        self.G = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 6))
        self.D = nn.Sequential(nn.Linear(12, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.opt_G = torch.optim.Adam(self.G.parameters(), lr=2e-3, betas=(0.5, 0.999))
        self.opt_D = torch.optim.Adam(self.G.parameters(), lr=2e-3, betas=(0.5, 0.999))  # CULPRIT

    def pair(self, a, b):
        return self.D(torch.cat([a, b], 1))

    def step(self, a, b):
        fake = self.G(a)
        self.opt_D.zero_grad()
        d = F.mse_loss(self.pair(a, b), torch.ones(len(a), 1)) + F.mse_loss(self.pair(a, fake.detach()), torch.zeros(len(a), 1))
        d.backward()
        self.opt_D.step()
        self.opt_G.zero_grad()
        g = F.mse_loss(self.pair(a, fake), torch.ones(len(a), 1)) + 5 * F.l1_loss(fake, b)
        g.backward()
        self.opt_G.step()
        self.D.zero_grad()
        return d.item(), g.item()


tr = Trainer()
w = torch.randn(6, 6)
d0 = tr.D[0].weight.detach().clone()
for it in range(150):
    a = torch.randn(64, 6)
    d, g = tr.step(a, (a @ w).tanh())
    if it % 50 == 0:
        print(it, d, g)
print("loss", d, g, "D moved", (tr.D[0].weight - d0).norm().item())
