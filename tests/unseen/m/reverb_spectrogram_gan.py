"""WRONG. Conditional GAN for reverb spectrograms: the discriminator wins within a few steps, its score for fakes goes to 0 and stays there;
the fine texture of the generated spectrograms stays far from the real one.
TRUTH: in the generator step the discriminator gets fake_spec.detach(), so G_loss1 has no path to the generator; pass fake_spec itself.
THREAD: https://github.com/nikhilsinghmus/image2reverb/issues/37
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

CFG = dict(cond=6, frames=24, noise=24, hidden=64, batch=48, steps=150, lr_g=2e-3, lr_d=1e-3, lambda_env=1.0)


class Encoder(nn.Module):
    def __init__(self, cond, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(cond, hidden), nn.ReLU(), nn.Linear(hidden, hidden))

    def forward(self, c):
        return self.net(c)


class Generator(nn.Module):
    def __init__(self, hidden, noise, frames):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(hidden + noise, 2 * hidden), nn.LeakyReLU(0.2),
                                 nn.Linear(2 * hidden, frames))

    def forward(self, f, z):
        return self.net(torch.cat([f, z], dim=1))


class Discriminator(nn.Module):
    def __init__(self, hidden, frames):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(hidden + 2 * frames - 1, hidden), nn.LeakyReLU(0.2),
                                 nn.Linear(hidden, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, 1))

    def forward(self, spec, f):
        return self.net(torch.cat([spec, spec.diff(dim=1).abs(), f], dim=1))


def envelope(spec, width=6):
    return F.avg_pool1d(spec.unsqueeze(1), width, stride=width).squeeze(1)


def sample_rooms(cfg):
    c = torch.rand(cfg["batch"], cfg["cond"])
    t60 = 0.3 + c[:, :1]
    t = torch.linspace(0, 1, cfg["frames"])
    decay = 2.0 - 3.0 * t / t60.clamp(min=0.3) + c[:, 1:2]
    return c, decay + 0.5 * torch.randn_like(decay)


class Image2Spec:
    def __init__(self, cfg):
        self.cfg = cfg
        self.enc = Encoder(cfg["cond"], cfg["hidden"])
        self.g = Generator(cfg["hidden"], cfg["noise"], cfg["frames"])
        self.d = Discriminator(cfg["hidden"], cfg["frames"])
        self.g_opt = torch.optim.Adam(list(self.enc.parameters()) + list(self.g.parameters()),
                                      lr=cfg["lr_g"], betas=(0.5, 0.999))
        self.d_opt = torch.optim.Adam(self.d.parameters(), lr=cfg["lr_d"], betas=(0.5, 0.999))

    def training_step(self, batch, optimizer_idx):
        label, spec = batch
        f = self.enc(label)
        z = torch.randn(spec.size(0), self.cfg["noise"])
        fake_spec = self.g(f, z)

        if optimizer_idx == 0:
            d_fake2 = self.d(fake_spec.detach(), f)  # CULPRIT
            G_loss1 = F.mse_loss(d_fake2, torch.ones_like(d_fake2))
            G_loss2 = self.cfg["lambda_env"] * F.l1_loss(envelope(fake_spec), envelope(spec))
            return G_loss1 + G_loss2, {"G_loss1": G_loss1.item(), "G_loss2": G_loss2.item()}

        d_fake = self.d(fake_spec.detach(), f.detach())
        d_real = self.d(spec, f.detach())
        D_loss = 0.5 * (F.mse_loss(d_fake, torch.zeros_like(d_fake)) + F.mse_loss(d_real, torch.ones_like(d_real)))
        return D_loss, {"D_loss": D_loss.item(), "D_fake": d_fake.mean().item(), "D_real": d_real.mean().item()}

    @torch.no_grad()
    def texture(self):
        label, spec = sample_rooms(self.cfg)
        fake = self.g(self.enc(label), torch.randn(spec.size(0), self.cfg["noise"]))
        return fake.diff(dim=1).std().item(), spec.diff(dim=1).std().item()

    def fit(self):
        for step in range(self.cfg["steps"]):
            batch, logs = sample_rooms(self.cfg), {}
            for idx, opt in enumerate((self.g_opt, self.d_opt)):
                loss, out = self.training_step(batch, idx)
                opt.zero_grad()
                loss.backward()
                opt.step()
                logs.update(out)
            if step % 30 == 29:
                print(f"step {step + 1}", " ".join(f"{k} {v:.3f}" for k, v in logs.items()))
        fake, real = self.texture()
        print(f"texture of generated spectrograms {fake:.3f}, of real ones {real:.3f}")


def main():
    torch.manual_seed(0)
    Image2Spec(CFG).fit()


if __name__ == "__main__":
    main()
