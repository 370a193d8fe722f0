"""Recurrent picker for seismic traces: says at each sample whether the P wave has arrived.
"""
import torch
import torch.nn.functional as F
from torch import nn


def synth(n, length, gen):
    """Noise, then an onset; one trace in eight carries an instrument glitch."""
    onset = torch.randint(length // 4, 3 * length // 4, (n,), generator=gen)
    t = torch.arange(length)
    after = (t[None] >= onset[:, None]).float()
    wave = torch.randn(n, length, generator=gen) * (0.3 + 1.7 * after)
    glitch = (torch.rand(n, generator=gen) < 0.12).float()
    wave[:, 5] += glitch * 4000.0
    return wave[..., None], after


class Picker(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.width = width
        self.inp = nn.Linear(2, width)
        self.rec = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, 1)
        nn.init.orthogonal_(self.rec.weight, 0.9)

    def forward(self, wave):
        h = wave.new_zeros(wave.shape[0], self.width)
        scores = []
        for x in wave.unbind(1):
            h = F.relu(self.inp(torch.cat([x, x.abs()], -1)) + self.rec(h))
            scores.append(self.out(h).squeeze(-1))
        return torch.stack(scores, 1)


class Fitter:
    max_norm = 0.5

    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
        self.watched = [p for p in net.parameters() if p.requires_grad]
        self.history = []

    def update(self, wave, after):
        self.opt.zero_grad()
        loss = F.binary_cross_entropy_with_logits(self.net(wave), after)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.watched, self.max_norm)
        self.opt.step()
        self.history.append(loss.item())

    def recent(self, k=20):
        tail = self.history[-k:]
        return sum(tail) / len(tail)


@torch.no_grad()
def pick_accuracy(net, wave, after):
    net.eval()
    clean = wave[:, 5, 0].abs() < 100
    hit = ((net(wave[clean]) > 0).float() == after[clean]).float().mean().item()
    net.train()
    return hit


def main():
    gen = torch.Generator().manual_seed(8)
    torch.manual_seed(8)
    net = Picker()
    fitter = Fitter(net, lr=0.03)
    held = synth(256, 40, gen)
    for step in range(400):
        fitter.update(*synth(32, 40, gen))
        if (step + 1) % 50 == 0:
            print(f"step {step + 1:4d}  loss {fitter.recent():.4g}  accuracy {pick_accuracy(net, *held):.3f}")


if __name__ == "__main__":
    main()
