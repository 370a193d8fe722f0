"""WRONG. Training of a speech enhancer on batches with zero-padded clips: the first loss is fine, from the second step on everything is nan.
TRUTH: torch.sqrt of a power spectrum that is exactly zero in the padded frames has infinite slope, times zero gives nan; clamp the power
(or add an epsilon) before the sqrt.
THREAD: https://github.com/pytorch/audio/issues/993
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Spectrogram(nn.Module):
    def __init__(self, n_fft, hop_length, power):
        super().__init__()
        self.n_fft, self.hop_length, self.power = n_fft, hop_length, power
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, wav):
        spec = torch.stft(wav, self.n_fft, self.hop_length, window=self.window, center=True,
                          pad_mode="constant", return_complex=True)
        norm_sq = torch.view_as_real(spec).pow(2.0).sum(-1)
        if self.power == 1:
            return torch.sqrt(norm_sq)  # CULPRIT
        return norm_sq


class MultiScaleSpectralLoss(nn.Module):
    def __init__(self, ffts=(32, 64), alpha=0.5):
        super().__init__()
        self.specs = nn.ModuleList(Spectrogram(n, n // 4, power=1) for n in ffts)
        self.alpha = alpha

    def forward(self, est, ref):
        loss = est.new_zeros(())
        for spec in self.specs:
            e, r = spec(est), spec(ref)
            lin = F.l1_loss(e, r)
            log = F.l1_loss(torch.log1p(10 * e), torch.log1p(10 * r))
            loss = loss + self.alpha * lin + (1 - self.alpha) * log
        return loss / len(self.specs)


class Enhancer(nn.Module):
    def __init__(self, channels=16, kernel=9):
        super().__init__()
        pad = kernel // 2
        self.encoder = nn.Conv1d(1, channels, kernel, padding=pad)
        self.body = nn.Sequential(
            nn.PReLU(), nn.Conv1d(channels, channels, kernel, padding=2 * pad, dilation=2),
            nn.PReLU(), nn.Conv1d(channels, channels, kernel, padding=pad),
        )
        self.decoder = nn.Conv1d(channels, 1, kernel, padding=pad)

    def forward(self, wav, lengths):
        h = self.encoder(wav.unsqueeze(1))
        est = self.decoder(h + self.body(h)).squeeze(1)
        inside = torch.arange(wav.size(1))[None, :] < lengths[:, None]
        return est * inside


def collate(clips):
    length = max(c[0].numel() for c in clips)
    pad = lambda w: F.pad(w, (0, length - w.numel()))
    noisy = torch.stack([pad(n) for n, _ in clips])
    clean = torch.stack([pad(c) for _, c in clips])
    lengths = torch.tensor([c[0].numel() for c in clips])
    return noisy, clean, lengths


def make_clip():
    n = int(torch.randint(300, 800, ()))
    t = torch.arange(n) / 100.0
    f = 3 + 7 * torch.rand(())
    clean = torch.sin(2 * torch.pi * f * t) * (0.5 + 0.5 * torch.sin(2 * torch.pi * 0.5 * t))
    noise = torch.randn(n) * (torch.sin(2 * torch.pi * 0.9 * t) > 0).float()
    return clean + 0.5 * noise, clean


def si_snr(est, ref, lengths):
    out = []
    for e, r, n in zip(est, ref, lengths):
        e, r = e[:n] - e[:n].mean(), r[:n] - r[:n].mean()
        s = (e @ r) / (r @ r) * r
        out.append(10 * torch.log10(s.pow(2).sum() / ((e - s).pow(2).sum() + 1e-8)))
    return torch.stack(out).mean()


def main():
    torch.manual_seed(0)
    model = Enhancer()
    criterion = MultiScaleSpectralLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    valid = collate([make_clip() for _ in range(16)])
    for step in range(60):
        noisy, clean, lengths = collate([make_clip() for _ in range(8)])
        est = model(noisy, lengths)
        wav_loss = (est - clean).abs().sum() / lengths.sum()
        spec_loss = criterion(est, clean)
        loss = spec_loss + 5.0 * wav_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (0, 1) or step % 10 == 9:
            with torch.no_grad():
                snr = si_snr(model(valid[0], valid[2]), valid[1], valid[2])
            print(f"step {step + 1} spec {spec_loss.item():.4f} wav {wav_loss.item():.4f} valid si-snr {snr.item():.2f}")


if __name__ == "__main__":
    main()
