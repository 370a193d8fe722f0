"""WRONG. After the very first optimizer step the loss of the audio autoencoder is NaN, although the input features contain no NaN at all.
TRUTH: the magnitude is the plain square root of the power; the clips are padded with silence, the power there is exactly 0, and the gradient of sqrt at 0 is NaN (0 * inf). Add an eps below the root: (power + eps).sqrt().
THREAD: https://github.com/pytorch/audio/issues/993
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

SAMPLE_RATE = 4000
CLIP = 1024


def make_batch(batch_size):
    lengths = torch.randint(500, CLIP + 1, (batch_size,))
    t = torch.arange(CLIP) / SAMPLE_RATE
    freq = torch.empty(batch_size, 1).uniform_(100, 800)
    wav = 0.5 * torch.sin(2 * torch.pi * freq * t) + 0.02 * torch.randn(batch_size, CLIP)
    mask = (torch.arange(CLIP)[None, :] < lengths[:, None]).float()
    return wav * mask, mask


class Spectrogram(nn.Module):
    def __init__(self, n_fft=128, hop_length=64):
        super().__init__()
        self.n_fft = n_fft
        self.hop_length = hop_length
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, wav):
        stft = torch.stft(wav, self.n_fft, self.hop_length, window=self.window,
                          return_complex=True)
        power = torch.view_as_real(stft).pow(2.0).sum(-1)
        return power.sqrt()  # CULPRIT


class AutoEncoder(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, channels, 16, stride=8, padding=4), nn.LeakyReLU(0.2),
            nn.Conv1d(channels, channels, 5, padding=2), nn.LeakyReLU(0.2),
        )
        self.decoder = nn.ConvTranspose1d(channels, 1, 16, stride=8, padding=4)

    def forward(self, wav, mask):
        h = self.encoder(wav.unsqueeze(1))
        out = self.decoder(h).squeeze(1)
        return out * mask


class SpectralLoss(nn.Module):
    def __init__(self, weight_log=0.1):
        super().__init__()
        self.specs = nn.ModuleList([Spectrogram(128, 64), Spectrogram(256, 128)])
        self.weight_log = weight_log

    def forward(self, pred, target):
        loss = 0.0
        for spec in self.specs:
            p, q = spec(pred), spec(target)
            loss = loss + F.l1_loss(p, q)
            loss = loss + self.weight_log * F.l1_loss(torch.log(p + 1e-3), torch.log(q + 1e-3))
        return loss / len(self.specs)


def main():
    model = AutoEncoder()
    criterion = SpectralLoss()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.98)

    for step in range(40):
        wav, mask = make_batch(16)
        assert torch.isfinite(wav).all()
        rec = model(wav, mask)
        wave_loss = ((rec - wav) ** 2).sum() / mask.sum()
        loss = wave_loss + criterion(rec, wav)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 5 == 0:
            print(f"step {step:3d} loss {loss.item():.4f} wave {wave_loss.item():.4f}")

    bad = [n for n, p in model.named_parameters() if not torch.isfinite(p).all()]
    print("final loss", loss.item(), "parameters that are not finite:", bad)


if __name__ == "__main__":
    main()
