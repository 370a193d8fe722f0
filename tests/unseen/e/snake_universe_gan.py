"""line/open-universe#5, "Parameters of discriminator optimizer"
Symptom: one of the two discriminators (the multi-period one) does not seem to learn, its loss stays where it starts.
EXPECT: runs
TRUTH: the discriminator optimizer gets the parameters of loss_mrd twice and those of loss_mpd never; the second list must be loss_mpd's.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
torch.set_num_threads(1)

LENGTH = 64


def make_speech(n):
    t = torch.arange(LENGTH).float()
    freq = 0.1 + 0.3 * torch.rand(n, 1)
    clean = torch.sin(freq * t + 6 * torch.rand(n, 1)) * (0.5 + 0.5 * torch.rand(n, 1))
    return TensorDataset(clean.unsqueeze(1), (clean + 0.5 * torch.randn_like(clean)).unsqueeze(1))


class Enhancer(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, ch, 9, padding=4), nn.PReLU(),
            nn.Conv1d(ch, ch, 9, padding=4), nn.PReLU(),
            nn.Conv1d(ch, 1, 9, padding=4),
        )

    def forward(self, noisy):
        return self.net(noisy)


class ResolutionDiscriminator(nn.Module):
    def __init__(self, n_fft=16):
        super().__init__()
        self.n_fft = n_fft
        self.net = nn.Sequential(nn.Conv1d(n_fft // 2 + 1, 16, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv1d(16, 1, 3, padding=1))

    def forward(self, x):
        spec = torch.stft(x.squeeze(1), self.n_fft, hop_length=8, window=torch.hann_window(self.n_fft), return_complex=True).abs()
        return self.net(spec)


class PeriodDiscriminator(nn.Module):
    def __init__(self, period=4):
        super().__init__()
        self.period = period
        self.net = nn.Sequential(nn.Conv1d(period, 16, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv1d(16, 1, 3, padding=1))

    def forward(self, x):
        return self.net(x.view(x.size(0), -1, self.period).transpose(1, 2))


def disc_loss(disc, real, fake):
    return ((disc(real) - 1) ** 2).mean() + (disc(fake) ** 2).mean()


class UniverseGAN:
    def __init__(self):
        self.model = Enhancer()
        self.loss_mrd = ResolutionDiscriminator()
        self.loss_mpd = PeriodDiscriminator()
        self.configure_optimizers()

    def configure_optimizers(self):
        self.opt_gen = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        params_disc = list(self.loss_mrd.parameters()) + list(self.loss_mrd.parameters())  # CULPRIT
        self.opt_disc = torch.optim.AdamW(params_disc, lr=2e-3)

    def training_step(self, clean, noisy):
        fake = self.model(noisy)
        adv = ((self.loss_mrd(fake) - 1) ** 2).mean() + ((self.loss_mpd(fake) - 1) ** 2).mean()
        loss_gen = 5.0 * F.l1_loss(fake, clean) + 0.2 * adv
        self.opt_gen.zero_grad()
        loss_gen.backward()
        self.opt_gen.step()

        self.opt_disc.zero_grad()
        loss_r = disc_loss(self.loss_mrd, clean, fake.detach())
        loss_p = disc_loss(self.loss_mpd, clean, fake.detach())
        (loss_r + loss_p).backward()
        self.opt_disc.step()
        return loss_gen.item(), loss_r.item(), loss_p.item()


def main():
    loader = DataLoader(make_speech(640), batch_size=32, shuffle=True)
    trainer = UniverseGAN()
    for epoch in range(8):
        logs = [trainer.training_step(clean, noisy) for clean, noisy in loader]
        gen, r, p = torch.tensor(logs).mean(0).tolist()
        print("epoch %d gen %.3f mrd %.3f mpd %.3f" % (epoch, gen, r, p))


if __name__ == "__main__":
    main()
