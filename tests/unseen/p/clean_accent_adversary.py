"""Keyword recognition with an accent adversary behind a gradient-reversal layer, two optimizers, ramped weight.

TRUTH: correct: GradReverse is the identity forward and multiplies the gradient by -lambda backward, so one
backward of (task loss + adversary loss) trains the accent head to recognize accents and the encoder to hide
them; lambda is a Python number kept on ctx and gets no gradient (None). At lambda = 0 (first step) the
encoder gets exactly zero from the adversary on purpose. Encoder and heads are in disjoint optimizers which
are both zeroed and stepped. The frozen filterbank and the detached diagnostic probe are deliberate.
"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.lambd = lambd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.lambd, None


class FilterBank(nn.Module):
    """Fixed log-energy front end."""

    def __init__(self, n_filters=16, width=32):
        super().__init__()
        t = torch.arange(width).float()
        freqs = torch.linspace(0.02, 0.45, n_filters).unsqueeze(1)
        self.conv = nn.Conv1d(1, n_filters, width, stride=16, bias=False)
        with torch.no_grad():
            self.conv.weight.copy_((torch.cos(6.2832 * freqs * t) * torch.hann_window(width)).unsqueeze(1))
        self.conv.weight.requires_grad_(False)

    def forward(self, wav):
        return (self.conv(wav.unsqueeze(1)).pow(2) + 1e-3).log()


class Model(nn.Module):
    def __init__(self, n_words=5, n_accents=3, dim=32):
        super().__init__()
        self.bank = FilterBank()
        self.encoder = nn.Sequential(nn.Conv1d(16, 32, 3, padding=1), nn.ReLU(),
                                     nn.Conv1d(32, dim, 3, padding=1), nn.ReLU())
        self.word_head = nn.Linear(dim, n_words)
        self.accent_head = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, n_accents))
        self.probe = nn.Linear(dim, n_accents)

    def forward(self, wav, lambd):
        z = self.encoder(self.bank(wav)).mean(-1)
        return self.word_head(z), self.accent_head(GradReverse.apply(z, lambd)), self.probe(z.detach())


def recordings(n, gen):
    word = torch.randint(0, 5, (n,), generator=gen)
    accent = torch.randint(0, 3, (n,), generator=gen)
    t = torch.arange(256).float()
    base = 0.05 + 0.07 * word.float().unsqueeze(1)
    tint = 0.42 - 0.03 * accent.float().unsqueeze(1)
    phase = 6.28 * torch.rand(n, 1, generator=gen)
    wav = torch.sin(6.2832 * base * t + phase) + 0.5 * torch.sin(6.2832 * tint * t + phase)
    return wav + 0.3 * torch.randn(n, 256, generator=gen), word, accent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--max-lambda", type=float, default=0.6)
    args = parser.parse_args()
    torch.manual_seed(8)
    gen = torch.Generator().manual_seed(3)
    model = Model()
    opt_enc = torch.optim.Adam(model.encoder.parameters(), lr=2e-3)
    heads = list(model.word_head.parameters()) + list(model.accent_head.parameters()) + list(model.probe.parameters())
    opt_heads = torch.optim.Adam(heads, lr=4e-3)
    for step in range(args.steps):
        p = step / args.steps
        lambd = args.max_lambda * (2.0 / (1.0 + math.exp(-10 * p)) - 1.0)
        wav, word, accent = recordings(args.batch_size, gen)
        word_logits, accent_logits, probe_logits = model(wav, lambd)
        word_loss = F.cross_entropy(word_logits, word)
        adv_loss = F.cross_entropy(accent_logits, accent)
        probe_loss = F.cross_entropy(probe_logits, accent)
        for opt in (opt_enc, opt_heads):
            opt.zero_grad()
        (word_loss + adv_loss + probe_loss).backward()
        for opt in (opt_enc, opt_heads):
            opt.step()
        if step % 40 == 0 or step == args.steps - 1:
            acc = (word_logits.argmax(-1) == word).float().mean().item()
            probe = (probe_logits.argmax(-1) == accent).float().mean().item()
            print(f"step {step:3d} lambda {lambd:.3f} word {word_loss.item():.4f} (acc {acc:.2f}) "
                  f"adversary {adv_loss.item():.4f} probe acc {probe:.2f}")


if __name__ == "__main__":
    main()
