"""Recognises a hand gesture from a bag of wearable-sensor frames of which only a few carry the gesture.

TRUTH: FramePool normalises its scores, which have shape (batch, frames, 1), with softmax over the last dimension. That
dimension has size one, so every weight is exactly 1, the pooling is a plain sum over all frames and the scorer receives
a zero gradient: it never changes. Validation stays poor because the irrelevant frames drown the signal. Fix: take the
softmax over the frame dimension (dim=1).
Drawn from catalyst-team/catalyst#285.
"""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMES, FEATS, GESTURES = 24, 12, 5


def record_sessions(n, seed):
    g = torch.Generator().manual_seed(seed)
    proto = torch.randn(GESTURES, FEATS - 2, generator=torch.Generator().manual_seed(99))
    label = torch.randint(0, GESTURES, (n,), generator=g)
    x = 2.0 * torch.randn(n, FRAMES, FEATS, generator=g)
    x[..., -2:] = 0.3 * torch.randn(n, FRAMES, 2, generator=g)
    for i in range(n):
        where = torch.randperm(FRAMES, generator=g)[:2]
        x[i, where, : FEATS - 2] = proto[label[i]] + 0.4 * torch.randn(2, FEATS - 2, generator=g)
        x[i, where, -2:] = 1.0 + 0.2 * torch.randn(2, 2, generator=g)
    return x, label


class FramePool(nn.Module):
    """Weighted average of frames, the weights coming from a small scoring network."""

    def __init__(self, feats, hidden=16):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(feats, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, frames):
        weights = F.softmax(self.score(frames), dim=-1)  # CULPRIT
        return (weights * frames).sum(dim=1), weights.squeeze(-1)


class GestureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(FEATS, 24)
        self.pool = FramePool(24)
        self.norm = nn.LayerNorm(24)
        self.head = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, GESTURES))

    def forward(self, x):
        pooled, w = self.pool(self.embed(x))
        return self.head(self.norm(pooled)), w


def run_epoch(model, data, opt=None, batch=64):
    x, y = data
    model.train(opt is not None)
    order = torch.randperm(len(x)) if opt else torch.arange(len(x))
    loss_sum, hits = 0.0, 0
    for idx in order.split(batch):
        with torch.set_grad_enabled(opt is not None):
            logits, _ = model(x[idx])
            loss = F.cross_entropy(logits, y[idx])
        if opt is not None:
            opt.zero_grad()
            loss.backward()
            opt.step()
        loss_sum += loss.item() * len(idx)
        hits += (logits.argmax(1) == y[idx]).sum().item()
    return loss_sum / len(x), hits / len(x)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    train, valid = record_sessions(1600, 1), record_sessions(500, 2)
    model = GestureNet()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-5)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    for epoch in range(args.epochs):
        tl, ta = run_epoch(model, train, opt)
        vl, va = run_epoch(model, valid)
        sched.step()
        if epoch % 4 == 0 or epoch == args.epochs - 1:
            print(f"epoch {epoch:2d}  train {tl:.3f}/{ta:.3f}  valid {vl:.3f}/{va:.3f}")


if __name__ == "__main__":
    main()
