"""GitHub issue (DCGAN implementation), "Generator loss only goes up, images stay noise"
Symptom: discriminator loss goes to 0, the samples never change.
EXPECT: runs
TRUTH: The generator loss is computed on the detached fake, so G gets no gradient at all and its step does nothing.
Use the attached fake for the generator's loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GAN:
    def __init__(self, z=6):
        self.z = z
        self.g = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, 16), nn.Tanh())
        self.d = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.og = torch.optim.Adam(self.g.parameters(), 2e-3, betas=(0.5, 0.999))
        self.od = torch.optim.Adam(self.d.parameters(), 2e-3, betas=(0.5, 0.999))

    def sample(self, n):
        self.fake = self.g(torch.randn(n, self.z))
        return self.fake.detach()  # CULPRIT

    def step_d(self, real):
        fake = self.sample(len(real))
        loss = F.softplus(-self.d(real)).mean() + F.softplus(self.d(fake)).mean()
        self.od.zero_grad()
        loss.backward()
        self.od.step()
        return loss.item()

    def step_g(self, n):
        fake = self.sample(n)  # CULPRIT
        loss = F.softplus(-self.d(fake)).mean()
        self.og.zero_grad()
        loss.backward()
        self.og.step()
        return loss.item()


pattern = torch.sign(torch.randn(16)) * 0.8
gan = GAN()
for it in range(300):
    real = pattern + 0.05 * torch.randn(64, 16)
    ld, lg = gan.step_d(real), gan.step_g(64)
    if it % 100 == 0:
        print(it, "D", ld, "G", lg)
print("loss", ld, lg, "distance", (gan.sample(200).mean(0) - pattern).norm().item())
