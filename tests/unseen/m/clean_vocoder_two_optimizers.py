"""RIGHT. Small GAN vocoder: discriminator step on detached audio, then generator step with feature matching through a frozen discriminator.
TRUTH: one generator forward serves both steps, the first use is detached; the discriminator is stepped before its second forward; its
parameters do not require grad during the generator step, real features are computed under no_grad as they are targets.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

CFG = {"mel": 8, "hop": 16, "frames": 12, "ch": 16, "batch": 16, "steps": 60, "lr_g": 2e-3, "lr_d": 1e-3,
       "w_fm": 2.0, "w_spec": 10.0}


class Generator(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.pre = nn.Conv1d(cfg["mel"], cfg["ch"], 3, padding=1)
        self.up1 = nn.ConvTranspose1d(cfg["ch"], cfg["ch"], 8, stride=4, padding=2)
        self.up2 = nn.ConvTranspose1d(cfg["ch"], cfg["ch"], 8, stride=4, padding=2)
        self.post = nn.Conv1d(cfg["ch"], 1, 7, padding=3)

    def forward(self, mel):
        x = F.leaky_relu(self.pre(mel), 0.1)
        x = F.leaky_relu(self.up1(x), 0.1, inplace=True)
        x = F.leaky_relu(self.up2(x), 0.1, inplace=True)
        return torch.tanh(self.post(x)).squeeze(1)


class Discriminator(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(1, ch, 9, 2, 4), nn.Conv1d(ch, ch, 9, 2, 4), nn.Conv1d(ch, ch, 9, 2, 4)])
        self.post = nn.Conv1d(ch, 1, 3, padding=1)

    def forward(self, wav):
        x, feats = wav.unsqueeze(1), []
        for conv in self.convs:
            x = F.leaky_relu(conv(x), 0.1)
            feats.append(x)
        return self.post(x).squeeze(1), feats


def log_spec(wav, n_fft=32):
    spec = torch.stft(wav, n_fft, n_fft // 4, window=torch.hann_window(n_fft), return_complex=True)
    return torch.log(spec.real.square() + spec.imag.square() + 1e-4)


def make_batch(cfg):
    n = cfg["frames"] * cfg["hop"]
    t = torch.arange(n) / n
    f = torch.randint(4, 20, (cfg["batch"], 1)).float()
    wav = 0.6 * torch.sin(2 * torch.pi * f * t + 6.28 * torch.rand(cfg["batch"], 1)) + 0.05 * torch.randn(cfg["batch"], n)
    frames = wav.view(cfg["batch"], cfg["frames"], cfg["hop"])
    mel = frames[:, :, ::2].transpose(1, 2).contiguous()
    return mel, wav


def set_requires_grad(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


def main(cfg):
    torch.manual_seed(0)
    gen, disc = Generator(cfg), Discriminator(cfg["ch"])
    opt_g = torch.optim.AdamW(gen.parameters(), lr=cfg["lr_g"], betas=(0.8, 0.99))
    opt_d = torch.optim.AdamW(disc.parameters(), lr=cfg["lr_d"], betas=(0.8, 0.99))
    sched_g = torch.optim.lr_scheduler.ExponentialLR(opt_g, 0.995)
    sched_d = torch.optim.lr_scheduler.ExponentialLR(opt_d, 0.995)

    for step in range(cfg["steps"]):
        mel, wav = make_batch(cfg)
        fake = gen(mel)

        opt_d.zero_grad()
        d_real, _ = disc(wav)
        d_fake, _ = disc(fake.detach())
        loss_d = (1 - d_real).square().mean() + d_fake.square().mean()
        loss_d.backward()
        opt_d.step()

        set_requires_grad(disc, False)
        opt_g.zero_grad()
        g_fake, feats_fake = disc(fake)
        with torch.no_grad():
            _, feats_real = disc(wav)
        loss_adv = (1 - g_fake).square().mean()
        loss_fm = sum(F.l1_loss(a, b) for a, b in zip(feats_fake, feats_real)) / len(feats_real)
        loss_spec = F.l1_loss(log_spec(fake), log_spec(wav))
        loss_g = loss_adv + cfg["w_fm"] * loss_fm + cfg["w_spec"] * loss_spec
        loss_g.backward()
        opt_g.step()
        set_requires_grad(disc, True)

        sched_g.step()
        sched_d.step()
        if step % 20 == 19 or step == 0:
            print(f"step {step + 1} d {loss_d.item():.3f} adv {loss_adv.item():.3f} fm {loss_fm.item():.3f} "
                  f"spec {loss_spec.item():.3f}")


if __name__ == "__main__":
    main(CFG)
