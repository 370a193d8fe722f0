"""nikhilsinghmus/image2reverb#37
Symptom: The discriminator dominates very early (D_loss small, D_real about 0.9) and the generator never answers to it.
EXPECT: runs
TRUTH: the generator step feeds fake_spec.detach() to the discriminator, so G_loss1 gives the generator no gradient; drop the detach there.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Generator(nn.Module):
    def __init__(self, feat=8, noise=8, bins=16):
        super().__init__()
        self.noise = noise
        self.net = nn.Sequential(
            nn.Linear(feat + noise, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, bins))

    def forward(self, f):
        z = torch.randn(f.size(0), self.noise)
        return self.net(torch.cat([f, z], 1))


class Discriminator(nn.Module):
    def __init__(self, feat=8, bins=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(feat + bins, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, spec, f):
        return self.net(torch.cat([spec, f], 1))


class Image2Reverb:
    def __init__(self, l1_weight=0.2):
        self.encoder = nn.Sequential(nn.Linear(12, 8), nn.Tanh())
        self.g = Generator()
        self.d = Discriminator()
        self.l1_weight = l1_weight
        self.log = {}

    def configure_optimizers(self):
        g_params = list(self.g.parameters()) + list(self.encoder.parameters())
        g_optim = torch.optim.Adam(g_params, lr=1e-3, betas=(0.0, 0.99))
        d_optim = torch.optim.Adam(self.d.parameters(), lr=2e-3, betas=(0.0, 0.99))
        return [g_optim, d_optim]

    def training_step(self, batch, optimizer_idx):
        label, spec = batch
        f = self.encoder(label)
        fake_spec = self.g(f)
        if optimizer_idx == 0:
            d_fake2 = self.d(fake_spec.detach(), f)  # CULPRIT
            G_loss1 = F.mse_loss(d_fake2, torch.ones_like(d_fake2))
            G_loss2 = F.l1_loss(fake_spec, spec)
            G_loss = G_loss1 + self.l1_weight * G_loss2
            self.log.update(G=G_loss1.item(), l1=G_loss2.item())
            return G_loss
        f = f.detach()
        d_fake = self.d(fake_spec.detach(), f)
        d_real = self.d(spec, f)
        D_loss1 = F.mse_loss(d_fake, torch.zeros_like(d_fake))
        D_loss2 = F.mse_loss(d_real, torch.ones_like(d_real))
        D_loss = 0.5 * (D_loss1 + D_loss2)
        self.log.update(D=D_loss.item(), D_real=d_real.mean().item(), D_fake=d_fake.mean().item())
        return D_loss


def make_rooms(n=768):
    image = torch.randn(n, 12)
    decay = torch.sigmoid(image[:, :1]) * 3 + 0.5
    t = torch.linspace(0, 1, 16)
    envelope = torch.exp(-decay * t)
    return image, envelope + 0.35 * torch.randn(n, 16)


if __name__ == "__main__":
    torch.manual_seed(11)
    torch.set_num_threads(1)
    image, spec = make_rooms()
    loader = DataLoader(TensorDataset(image, spec), batch_size=64, shuffle=True)
    model = Image2Reverb()
    optimizers = model.configure_optimizers()
    for epoch in range(30):
        for batch in loader:
            for idx, opt in enumerate(optimizers):
                opt.zero_grad()
                model.training_step(batch, idx).backward()
                opt.step()
        if epoch % 5 == 4:
            print(epoch + 1, {k: round(v, 3) for k, v in model.log.items()})
    with torch.no_grad():
        fake = model.g(model.encoder(image))
    print("residual spread real %.3f fake %.3f" % (spec.std(1).mean().item(), fake.std(1).mean().item()))
