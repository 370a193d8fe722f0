"""Separate choir voices: fit loudness and fundamental frequency of each singer to a spectrum.

TRUTH: after the first step self.pitch is bound to the result of clamp, a new tensor without requires_grad that the optimizer does not know, so pitch moves once and then stays fixed while only loudness learns; clamp in place under no_grad.
"""
import torch


class VoiceFit:
    def __init__(self, bins, pitch, low=40.0, high=200.0):
        self.grid = torch.linspace(0, 240, bins)
        self.pitch = torch.tensor(pitch, requires_grad=True)
        self.loudness = torch.ones(len(pitch), requires_grad=True)
        self.low, self.high = low, high
        self.optimizer = torch.optim.Adam(
            [{"params": [self.pitch], "lr": 0.5}, {"params": [self.loudness], "lr": 0.05}]
        )

    def spectrum(self, pitch, loudness):
        peaks = torch.exp(-0.5 * ((self.grid - pitch[:, None]) / 8.0) ** 2)
        return (loudness[:, None] * peaks).sum(0)

    def constrain(self):
        with torch.no_grad():
            self.pitch.clamp_(self.low, self.high)
            self.loudness.clamp_(min=0.0)

    def step(self, target):
        self.optimizer.zero_grad()
        loss = (self.spectrum(self.pitch, self.loudness) - target).square().mean()
        loss.backward()
        self.optimizer.step()
        self.constrain()
        return loss.item()


def main():
    torch.manual_seed(4)
    fit = VoiceFit(240, [60.0, 105.0, 160.0])
    with torch.no_grad():
        target = fit.spectrum(torch.tensor([68.0, 112.0, 150.0]), torch.tensor([1.5, 0.7, 1.1]))
        target += 0.01 * torch.randn_like(target)
    for it in range(150):
        loss = fit.step(target)
        if it % 30 == 0 or it == 149:
            print(f"it {it:3d}  loss {loss:.5f}  pitch {[round(p, 1) for p in fit.pitch.tolist()]}")
    print("loudness", [round(v, 2) for v in fit.loudness.tolist()])


if __name__ == "__main__":
    main()
