"""What the user sees: when I train on my own data the Discriminator dominates very early (D_loss near 0, D_real_mean
around 0.9 or more) and never comes back, the generated spectra have no variety.

TRUTH: in the generator step the fake spectrum is detached before it goes through the discriminator, so G_loss1 gives the
generator no gradient; only the reconstruction-like G_loss2 trains it. Fix: self.d(fake_spec, f) without detach.
THREAD: https://github.com/nikhilsinghmus/image2reverb/issues/37
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, feat_dim=4, z_dim=4, out=2):
        super().__init__()
        self.z_dim = z_dim
        self.net = nn.Sequential(nn.Linear(feat_dim + z_dim, 64), nn.LeakyReLU(0.2),
                                 nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, out))

    def forward(self, f):
        z = torch.randn(f.shape[0], self.z_dim)
        return self.net(torch.cat([f, z], 1))


class Discriminator(nn.Module):
    def __init__(self, feat_dim=4, inp=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(feat_dim + inp, 64), nn.LeakyReLU(0.2),
                                 nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, spec, f):
        return self.net(torch.cat([spec, f], 1))


class Image2Spec:
    def __init__(self, lr_g=1e-3, lr_d=1e-3, g_loss_weight=0.1):
        self.g = Generator()
        self.d = Discriminator()
        self.l = g_loss_weight
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=lr_g, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.d.parameters(), lr=lr_d, betas=(0.5, 0.999))

    def training_step(self, batch, optimizer_idx):
        spec, f = batch
        if optimizer_idx == 0:
            fake_spec = self.g(f)
            d_fake2 = self.d(fake_spec.detach(), f)  # CULPRIT
            G_loss1 = F.mse_loss(d_fake2, torch.ones(d_fake2.shape))
            G_loss2 = F.mse_loss(fake_spec.mean(0), spec.mean(0))
            return {'loss': G_loss1 + self.l * G_loss2, 'G': G_loss1.item()}

        fake_spec = self.g(f).detach()
        d_real = self.d(spec, f)
        d_fake = self.d(fake_spec, f)
        D_loss = 0.5 * (F.mse_loss(d_real, torch.ones_like(d_real)) + F.mse_loss(d_fake, torch.zeros_like(d_fake)))
        return {'loss': D_loss, 'D': D_loss.item(), 'D_real_mean': d_real.mean().item()}

    def step(self, batch):
        logs = {}
        for idx, opt in enumerate((self.opt_g, self.opt_d)):
            opt.zero_grad()
            out = self.training_step(batch, idx)
            out.pop('loss').backward()
            opt.step()
            logs.update(out)
        return logs


def get_batch(n=128):
    f = torch.randn(n, 4) * 0.5
    angle = torch.rand(n) * 6.2832
    spec = 2 * torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2) + f[:, :2]
    return spec, f


def main():
    torch.manual_seed(1)
    model = Image2Spec()
    for it in range(1201):
        logs = model.step(get_batch())
        if it % 300 == 0:
            with torch.no_grad():
                spec, f = get_batch(512)
                radius = (model.g(f) - f[:, :2]).norm(dim=1)
            print(f"{it:5d} G_loss1 {logs['G']:.3f} D_loss {logs['D']:.3f} D_real_mean {logs['D_real_mean']:.3f} "
                  f"radius {radius.mean():.2f} (real 2.00)")


main()
