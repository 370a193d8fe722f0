"""Fits a small synthesizer to plucked guitar notes with a waveform and a spectral distance.

TRUTH: register() stores every distance wrapped in torch.no_grad(), and the training loss uses the spectral distance from that table, so the spectral part is a constant in the loss (no grad_fn) and the spectrum is not fitted; store the plain function and switch gradients off where it is only reported.
"""
import torch
from torch import nn

DISTANCES = {}


def register(name):
    def wrap(function):
        DISTANCES[name] = torch.no_grad()(function)  # CULPRIT
        return function
    return wrap


@register("wave")
def wave_distance(made, heard):
    return (made - heard).abs().mean()


@register("spectrum")
def spectral_distance(made, heard, size=64):
    window = torch.hann_window(size)
    bins = [torch.stft(s, size, size // 2, window=window, return_complex=True).abs() for s in (made, heard)]
    return (torch.log1p(bins[0]) - torch.log1p(bins[1])).square().mean()


class Synthesizer(nn.Module):
    def __init__(self, partials=6, samples=512):
        super().__init__()
        self.register_buffer("t", torch.arange(samples) / samples)
        self.register_buffer("order", torch.arange(1, partials + 1).float())
        self.net = nn.Sequential(nn.Linear(2, 32), nn.ELU(), nn.Linear(32, partials + 1))

    def forward(self, pitch, pluck):
        control = self.net(torch.stack([pitch / 20, pluck], dim=1))
        gain, decay = control[:, :-1], nn.functional.softplus(control[:, -1:])
        waves = torch.sin(2 * torch.pi * pitch[:, None, None] * self.order[:, None] * self.t)
        return (gain[:, :, None] * waves).sum(dim=1) * torch.exp(-decay * self.t)


def notes(n, t, order):
    pitch, pluck = 8 + 12 * torch.rand(n), torch.rand(n)
    gain = torch.sin(torch.pi * order * (0.2 + 0.3 * pluck[:, None])) / order
    phase = 2 * torch.pi * torch.rand(n, len(order), 1)
    waves = torch.sin(2 * torch.pi * pitch[:, None, None] * order[:, None] * t + phase)
    return pitch, pluck, (gain[:, :, None] * waves).sum(dim=1) * torch.exp(-3 * t)


def main():
    torch.manual_seed(12)
    synth = Synthesizer()
    opt = torch.optim.Adam(synth.parameters(), lr=5e-3)
    for step in range(150):
        pitch, pluck, heard = notes(16, synth.t, synth.order)
        made = synth(pitch, pluck)
        spectral = DISTANCES["spectrum"](made, heard)
        loss = 0.1 * wave_distance(made, heard) + spectral
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0 or step == 149:
            print(f"{step:3d}  loss {loss.item():.4f}  spectral {spectral.item():.4f}")


if __name__ == "__main__":
    main()
