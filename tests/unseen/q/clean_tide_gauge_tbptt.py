"""Forecasts several tide gauges with a stateful GRU that walks along long records in short windows.

TRUTH: correct. The hidden state is carried from window to window and detached at each border (truncated backpropagation
through time), so one backward per window reaches exactly that window; the state is reset to None for a new pass and
the evaluation warms its own state under no_grad. The noise in the state during training and the per-window clip and
step are deliberate. Nothing to change.
"""
import argparse
import math
import torch
import torch.nn as nn


def tide_records(gauges, length, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(length).float()
    amp = 0.5 + torch.rand(gauges, 3, generator=g)
    phase = 2 * math.pi * torch.rand(gauges, 3, generator=g)
    period = torch.tensor([12.4, 25.8, 61.0])
    level = (amp[..., None] * torch.sin(2 * math.pi * t / period[:, None] + phase[..., None])).sum(1)
    surge = torch.zeros(gauges)
    out = []
    for k in range(length):
        surge = 0.95 * surge + 0.05 * torch.randn(gauges, generator=g)
        out.append(level[:, k] + surge)
    return torch.stack(out, 1)[..., None] / 2.0


class GaugeNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.cell = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        h, state = self.cell(x, state)
        return x + self.head(h), state


def windows(record, size):
    for start in range(0, record.shape[1] - 1, size):
        stop = min(start + size, record.shape[1] - 1)
        yield record[:, start:stop], record[:, start + 1:stop + 1]


def train_pass(model, record, opt, sched, size, jitter):
    state, total, count = None, 0.0, 0
    for x, y in windows(record, size):
        if state is not None:
            state = state.detach()
            state = state + jitter * torch.randn_like(state)
        pred, state = model(x, state)
        loss = (pred - y).pow(2).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        total += loss.item() * x.shape[1]
        count += x.shape[1]
    return total / count


@torch.no_grad()
def rollout_error(model, record, warm=200, ahead=12):
    pred, state = model(record[:, :warm])
    x, outs = pred[:, -1:], []
    for _ in range(ahead):
        outs.append(x)
        x, state = model(x, state)
    truth = record[:, warm:warm + ahead]
    naive = record[:, warm - 1:warm].expand_as(truth)
    return [(e - truth).pow(2).mean().sqrt().item() for e in (torch.cat(outs, 1), naive)]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--passes", type=int, default=14)
    ap.add_argument("--window", type=int, default=40)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    record, unseen = tide_records(24, 1201, 1), tide_records(24, 400, 2)
    model = GaugeNet()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.passes * 30)
    for k in range(args.passes):
        loss = train_pass(model, record, opt, sched, args.window, jitter=0.01)
        if k % 3 == 0 or k == args.passes - 1:
            ours, naive = rollout_error(model, unseen)
            print(f"pass {k:2d} loss {loss:.4f} 12-step error {ours:.3f} (persistence {naive:.3f})")


if __name__ == "__main__":
    main()
