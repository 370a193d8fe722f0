"""Stateful GRU forecaster on long parallel series: truncated BPTT, gradients accumulated over chunks, frozen front end.

TRUTH: correct: The hidden state is carried over the chunks and detached at each boundary (truncated BPTT), so the
learned initial state gets gradient from the first chunk only, which is enough. Gradients of two chunks are
accumulated before a step, each loss divided by 2, and zero_grad comes after the step. The random Fourier front end
is a fixed buffer and the embedding of the calendar is initialised and frozen on purpose; the output layer starts at
zero, so that in the very first backward the layers below it get zero gradient. It learns right after.
"""
import math

import torch
from torch import nn


class FourierFrontEnd(nn.Module):
    def __init__(self, n_feat, scale=1.0):
        super().__init__()
        self.register_buffer("freq", scale * torch.randn(n_feat))
        self.register_buffer("phase", 2 * math.pi * torch.rand(n_feat))

    def forward(self, x):
        return torch.cat([x, torch.cos(x * self.freq + self.phase)], dim=-1)


class StatefulGRU(nn.Module):
    def __init__(self, period=24, n_feat=8, hidden=40):
        super().__init__()
        self.front = FourierFrontEnd(n_feat)
        clock = torch.arange(period) * 2 * math.pi / period
        table = torch.stack([clock.sin(), clock.cos(), (2 * clock).sin(), (2 * clock).cos()], 1)
        self.calendar = nn.Embedding.from_pretrained(table, freeze=True)
        self.gru = nn.GRU(n_feat + 1 + 4, hidden, batch_first=True)
        self.h0 = nn.Parameter(torch.zeros(1, 1, hidden))
        self.head = nn.Linear(hidden, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def start(self, batch):
        return self.h0.expand(-1, batch, -1).contiguous()

    def forward(self, x, hour, h):
        feats = torch.cat([self.front(x.unsqueeze(-1)), self.calendar(hour)], dim=-1)
        out, h = self.gru(feats, h)
        return x + self.head(out).squeeze(-1), h


def make_series(n_series, length, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(length)
    shift = torch.randint(0, 24, (n_series, 1), generator=g)
    hour = (t + shift) % 24
    level = 0.3 * torch.randn(n_series, 1, generator=g)
    slow = torch.sin(2 * math.pi * t / 160 + 6.28 * torch.rand(n_series, 1, generator=g))
    y = level + 0.5 * slow + torch.sin(2 * math.pi * hour / 24) * (1 + 0.4 * slow)
    return y + 0.05 * torch.randn(n_series, length, generator=g), hour


class Runner:
    def __init__(self, model, chunk=40, accumulate=2, lr=4e-3):
        self.model, self.chunk, self.accumulate = model, chunk, accumulate
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.opt = torch.optim.Adam(self.params, lr=lr)

    def chunks(self, y, hour):
        for s in range(0, y.size(1) - self.chunk, self.chunk):
            e = s + self.chunk
            yield y[:, s:e], hour[:, s:e], y[:, s + 1:e + 1]

    def epoch(self, y, hour):
        self.model.train()
        h = self.model.start(len(y))
        total, count = 0.0, 0
        for i, (x, hr, target) in enumerate(self.chunks(y, hour)):
            pred, h = self.model(x, hr, h)
            loss = nn.functional.smooth_l1_loss(pred, target, beta=0.2)
            (loss / self.accumulate).backward()
            h = h.detach()
            if (i + 1) % self.accumulate == 0:
                nn.utils.clip_grad_norm_(self.params, 1.0)
                self.opt.step()
                self.opt.zero_grad(set_to_none=True)
            total += loss.item()
            count += 1
        return total / count

    @torch.no_grad()
    def evaluate(self, y, hour):
        self.model.eval()
        h = self.model.start(len(y))
        errs = []
        for x, hr, target in self.chunks(y, hour):
            pred, h = self.model(x, hr, h)
            errs.append((pred - target).abs().mean())
        return torch.stack(errs).mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    y, hour = make_series(48, 481, seed=1)
    yv, hv = make_series(16, 481, seed=2)
    naive = (yv[:, 1:] - yv[:, :-1]).abs().mean().item()
    runner = Runner(StatefulGRU())
    print(f"naive MAE {naive:.4f}")
    for ep in range(14):
        loss = runner.epoch(y, hour)
        print(f"epoch {ep:2d}  loss {loss:.5f}  val MAE {runner.evaluate(yv, hv):.4f}")
