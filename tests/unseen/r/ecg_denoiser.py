"""Small one-dimensional U-Net that removes noise from heartbeat strips of 250 samples.

TRUTH: 250 samples pooled twice with floor give 62, and the doubled 124 do not fit the skip's 125; torch.cat raises "Sizes of tensors must match"; upsample to the length of the skip.
"""
import torch
from torch import nn
import torch.nn.functional as F


def conv(n_in, n_out):
    return nn.Sequential(nn.Conv1d(n_in, n_out, 5, padding=2), nn.ReLU())


class UNet1d(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        sizes = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList([conv(1, sizes[0]), conv(sizes[0], sizes[1])])
        self.bottom = conv(sizes[1], sizes[2])
        self.up = nn.ModuleList([conv(sizes[2] + sizes[1], sizes[1]), conv(sizes[1] + sizes[0], sizes[0])])
        self.out = nn.Conv1d(sizes[0], 1, 1)

    def forward(self, x):
        skips, h = [], x
        for block in self.down:
            h = block(h)
            skips.append(h)
            h = F.max_pool1d(h, 2)
        h = self.bottom(h)
        for block in self.up:
            skip = skips.pop()
            h = F.interpolate(h, scale_factor=2, mode="linear")  # CULPRIT
            h = block(torch.cat([h, skip], dim=1))
        return x + self.out(h)


def beats(n, length=250):
    t = torch.linspace(0, 1, length)
    phase = torch.rand(n, 1)
    clean = torch.zeros(n, length)
    for k in range(4):
        centre = (k + phase) / 4
        clean += torch.exp(-((t - centre) ** 2) / 0.0004) - 0.3 * torch.exp(-((t - centre - 0.06) ** 2) / 0.001)
    return clean[:, None], (clean + 0.3 * torch.randn(n, length))[:, None]


class Denoiser:
    def __init__(self, lr=4e-3):
        self.net = UNet1d()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)

    def step(self, clean, noisy):
        loss = F.mse_loss(self.net(noisy), clean)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(25)
    clean, noisy = beats(200)
    denoiser = Denoiser()
    for step in range(80):
        idx = torch.randint(0, len(clean), (16,))
        loss = denoiser.step(clean[idx], noisy[idx])
        if step % 20 == 0:
            print(step, round(loss, 5))
    print("final", loss, "error of the noisy strips", F.mse_loss(noisy, clean).item())
