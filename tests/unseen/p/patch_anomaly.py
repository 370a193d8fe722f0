"""Patch encoder for time-series anomaly detection: triplet loss plus an adjacency pretext head, memory-bank scoring.

TRUTH: The in-batch negatives are taken from the similarity matrix after its diagonal (the anchor's own
positive) was filled with -inf. The mask is right for picking the largest similarity, but the code then goes
to distances with 1 - sim, so the diagonal becomes +inf, and torch.max picks the diagonal for every row. The
hinge is relu(pos - inf + margin) = 0 for all anchors: the triplet term is exactly 0.0000 from the first step
and sends no gradient, and only the pretext head trains the encoder. Fix: fill the diagonal with +inf, so that
the distance is -inf and is never picked (the triplet loss is then positive and falls).
Drawn from jinnnju/PaAno#1.
"""
import argparse
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_series(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    s = np.sin(2 * math.pi * t / 50) + 0.5 * np.sin(2 * math.pi * t / 21 + 0.3)
    s = s + 0.08 * rng.standard_normal(n)
    label = np.zeros(n, dtype=bool)
    for start in (2700, 3200, 3650):
        seg = slice(start, start + 60)
        s[seg] = s[seg] + 0.9 * np.sin(2 * math.pi * np.arange(60) / 9)
        label[seg] = True
    return s.astype(np.float32), label


class PatchEncoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 16, 7, padding=3, bias=False), nn.BatchNorm1d(16), nn.GELU(),
            nn.Conv1d(16, 32, 5, stride=2, padding=2, bias=False), nn.BatchNorm1d(32), nn.GELU(),
            nn.Conv1d(32, 32, 3, stride=2, padding=1, bias=False), nn.BatchNorm1d(32), nn.GELU(),
        )
        self.head = nn.Linear(32, dim)

    def forward(self, x):
        h = self.conv(x.unsqueeze(1)).mean(-1)
        return F.normalize(self.head(h), dim=-1)


class AdjacencyHead(nn.Module):
    """Says whether a second patch follows the first one."""

    def __init__(self, dim=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, a, b):
        return self.net(torch.cat([a, b], dim=-1)).squeeze(-1)


class PatchTripletLoss(nn.Module):
    """Anchor against its shifted copy, with the most dissimilar patch of the batch as negative.

    Series repeat themselves, so near patches may well be the same pattern: the far one is safe.
    """

    def __init__(self, margin=1.6):
        super().__init__()
        self.margin = margin

    def forward(self, anchor, positive):
        sim = anchor @ positive.t()
        pos_dist = 1 - sim.diagonal()
        others = sim.clone()
        others.diagonal().fill_(-float("inf"))  # CULPRIT
        neg_dist, _ = torch.max(1 - others, dim=1)
        return F.relu(pos_dist - neg_dist + self.margin).mean()


def sample_batch(train, args, gen):
    hi = len(train) - 2 * args.patch - args.max_shift
    start = torch.randint(args.max_shift, hi, (args.batch,), generator=gen)
    shift = torch.randint(1, args.max_shift + 1, (args.batch,), generator=gen)
    offs = torch.arange(args.patch)
    anchor = train[start.unsqueeze(1) + offs]
    pos = train[(start + shift).unsqueeze(1) + offs]
    follow = train[(start + args.patch).unsqueeze(1) + offs]
    return anchor, pos, follow


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--patch", type=int, default=48)
    p.add_argument("--max-shift", type=int, default=3)
    p.add_argument("--batch", type=int, default=48)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--pretext-weight", type=float, default=0.2)
    args = p.parse_args()

    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    series, label = make_series()
    train = torch.from_numpy(series[:2500])
    enc, adj = PatchEncoder(), AdjacencyHead()
    triplet = PatchTripletLoss()
    opt = torch.optim.AdamW(list(enc.parameters()) + list(adj.parameters()), lr=args.lr)

    for step in range(args.steps):
        anchor, pos, follow = sample_batch(train, args, gen)
        za, zp, zf = enc(anchor), enc(pos), enc(follow)
        loss_tri = triplet(za, zp)
        perm = torch.randperm(args.batch, generator=gen)
        logits = torch.cat([adj(za, zf), adj(za, zf[perm])])
        target = torch.cat([torch.ones(args.batch), torch.zeros(args.batch)])
        loss_adj = F.binary_cross_entropy_with_logits(logits, target)
        loss = loss_tri + args.pretext_weight * loss_adj
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 25 == 0 or step == args.steps - 1:
            print(f"step {step:4d}  triplet {loss_tri.item():.4f}  adjacency {loss_adj.item():.4f}")

    enc.eval()
    with torch.no_grad():
        bank = enc(train.unfold(0, args.patch, 5))
        test = torch.from_numpy(series[2500:])
        z = enc(test.unfold(0, args.patch, 1))
        score = 1 - (z @ bank.t()).topk(3, dim=1).values.mean(1)
    lab = torch.from_numpy(label[2500:]).float().unfold(0, args.patch, 1).mean(1) > 0.5
    print(f"mean score normal {score[~lab].mean():.4f}  anomalous {score[lab].mean():.4f}")


if __name__ == "__main__":
    main()
