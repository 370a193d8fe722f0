# kind: call_refused
"""U-Net like speech enhancement on raw waveforms."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class NoisyVowels(Dataset):
    def __init__(self, n, length=256, seed=0):
        gen = torch.Generator().manual_seed(seed)
        t = torch.arange(length) / length
        f0 = 4 + 6 * torch.rand(n, 1, generator=gen)
        weights = torch.rand(n, 3, generator=gen)
        tone = sum(weights[:, k:k + 1] * torch.sin(6.283 * f0 * (k + 1) * t) for k in range(3))
        self.clean = tone.unsqueeze(1) / 2
        self.noisy = self.clean + 0.3 * torch.randn(self.clean.shape, generator=gen)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        return self.noisy[i], self.clean[i]


class Down(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, 9, stride=2, padding=4)
        self.norm = nn.GroupNorm(4, c_out)

    def forward(self, x):
        return F.leaky_relu(self.norm(self.conv(x)), 0.2)


class Up(nn.Module):
    """Resizes to the length of the skip signal, joins both and convolves."""

    MODE = "bilinear"  # CULPRIT

    def __init__(self, c_in, c_skip, c_out):
        super().__init__()
        self.conv = nn.Conv1d(c_in + c_skip, c_out, 5, padding=2)

    def forward(self, x, skip):
        x = F.interpolate(x, size=skip.shape[2:], mode=self.MODE, align_corners=False)
        return self.conv(torch.cat([x, skip], dim=1))


class WaveUNet(nn.Module):
    def __init__(self, base=12):
        super().__init__()
        self.down1 = Down(1, base)
        self.down2 = Down(base, base * 2)
        self.up2 = Up(base * 2, base, base)
        self.up1 = Up(base, 1, 1)

    def forward(self, wave):
        d1 = self.down1(wave)
        d2 = self.down2(d1)
        return self.up1(F.leaky_relu(self.up2(d2, d1), 0.2), wave)


def snr(clean, estimate):
    noise = (clean - estimate).pow(2).sum(dim=(1, 2))
    return (10 * torch.log10(clean.pow(2).sum(dim=(1, 2)) / noise)).mean().item()


def main():
    torch.manual_seed(0)
    data = NoisyVowels(256)
    loader = DataLoader(data, batch_size=32, shuffle=True)
    model = WaveUNet()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    print(f"input snr {snr(data.clean, data.noisy):.2f} dB")
    for epoch in range(5):
        for noisy, clean in loader:
            loss = F.l1_loss(model(noisy), clean)
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            print(f"epoch {epoch} l1 {loss.item():.4f} snr {snr(data.clean, model(data.noisy)):.2f} dB")


if __name__ == "__main__":
    main()
