"""Stateful GRU on one long multivariate signal, truncated backpropagation through time, state carried over chunks.

TRUTH: correct: the state is detached between chunks on purpose (truncated BPTT), carried on in value and only reset at the start
of an epoch; the learned initial state is a parameter which gets its gradient in the first chunk of each epoch only; the
running loss is a float. Evaluation warms the state up under no_grad. The loss falls far below the persistence error.
"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def repackage(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage(v) for v in h)


def make_signal(length, channels, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(length, dtype=torch.float32)
    base = torch.stack([torch.sin(2 * math.pi * t / p) for p in (25, 60)], 1)
    switch = ((t // 100) % 2).unsqueeze(1)
    mixed = base * (1 - 0.5 * switch) + 0.5 * switch * torch.roll(base, 7, 0)
    w = torch.randn(2, channels, generator=g)
    return mixed @ w + 0.05 * torch.randn(length, channels, generator=g)


def batchify(data, bs):
    n = len(data) // bs
    return data[:n * bs].view(bs, n, -1).transpose(0, 1).contiguous()


class StatefulForecaster(nn.Module):
    def __init__(self, channels, hidden, layers):
        super().__init__()
        self.rnn = nn.GRU(channels, hidden, layers)
        self.h0 = nn.Parameter(torch.zeros(layers, 1, hidden))
        self.delta = nn.Linear(hidden, channels)
        nn.init.zeros_(self.delta.weight)
        nn.init.zeros_(self.delta.bias)

    def init_hidden(self, bs):
        return self.h0.expand(-1, bs, -1).contiguous()

    def forward(self, x, h):
        out, h = self.rnn(x, h)
        return x + self.delta(out), h


def get_chunk(source, i, bptt):
    n = min(bptt, len(source) - 1 - i)
    return source[i:i + n], source[i + 1:i + 1 + n]


def train(model, source, opt, args):
    model.train()
    hidden = model.init_hidden(source.size(1))
    total, steps = 0.0, 0
    for batch, i in enumerate(range(0, len(source) - 1, args.bptt)):
        x, y = get_chunk(source, i, args.bptt)
        if batch > 0:
            hidden = repackage(hidden)
        pred, hidden = model(x, hidden)
        loss = F.mse_loss(pred, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        opt.step()
        total += loss.item() * len(x)
        steps += len(x)
    return total / steps


@torch.no_grad()
def evaluate(model, warmup, source, bptt):
    model.eval()
    hidden = model.init_hidden(1)
    _, hidden = model(warmup, hidden)
    total, naive = 0.0, 0.0
    for i in range(0, len(source) - 1, bptt):
        x, y = get_chunk(source, i, bptt)
        pred, hidden = model(x, hidden)
        total += F.mse_loss(pred, y, reduction="sum").item()
        naive += F.mse_loss(x, y, reduction="sum").item()
    n = (len(source) - 1) * source.size(-1)
    return total / n, naive / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--bptt", type=int, default=20)
    ap.add_argument("--batch_size", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--nhid", type=int, default=32)
    ap.add_argument("--nlayers", type=int, default=1)
    ap.add_argument("--clip", type=float, default=0.25)
    args = ap.parse_args()
    torch.manual_seed(0)
    signal = make_signal(4000, 4, 0)
    source = batchify(signal[:3200], args.batch_size)
    warm, test = signal[3200:3300].unsqueeze(1), signal[3300:].unsqueeze(1)
    model = StatefulForecaster(4, args.nhid, args.nlayers)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, args.epochs + 1):
        loss = train(model, source, opt, args)
        if epoch % 3 == 0:
            mse, naive = evaluate(model, warm, test, args.bptt)
            print(f"epoch {epoch:2d} train {loss:.5f} test {mse:.5f} persistence {naive:.5f} |h0| {model.h0.norm().item():.3f}")


if __name__ == "__main__":
    main()
