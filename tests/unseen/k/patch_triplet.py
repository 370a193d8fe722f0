"""WRONG. Patch encoder for time-series anomaly detection: the pretext loss falls, but the triplet loss is exactly 0.0 from the first step on, and similarity of neighbouring and of distant patches is the same after training as before.
TRUTH: the diagonal is masked with -inf in similarity, which becomes +inf in distance (1 - sim), so torch.max always picks the masked diagonal and relu(pos - inf + margin) is 0; the diagonal must be filled with +inf.
THREAD: https://github.com/jinnnju/PaAno/issues/1
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

patch_size = 16
emb_dim = 8
batch_size = 24
margin = 0.5
steps = 50


def make_series(n=1200):
    """Three regimes of different frequency, slowly alternating, with noise."""
    t = torch.arange(n, dtype=torch.float)
    regime = (t / 200).long() % 3
    freq = torch.tensor([0.15, 0.5, 1.3])[regime]
    phase = torch.cumsum(freq, dim=0)
    return torch.sin(phase) + 0.3 * torch.cos(2.1 * phase) + 0.05 * torch.randn(n), regime


class PatchEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 12, 5, padding=2), nn.ReLU(), nn.Conv1d(12, 12, 5, padding=2), nn.ReLU())
        self.fc = nn.Linear(12, emb_dim)

    def forward(self, x):
        return F.normalize(self.fc(self.conv(x.unsqueeze(1)).mean(dim=2)), dim=1)


class PretextHead(nn.Module):
    """Does the second patch follow the first one directly?"""

    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(2 * patch_size, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, first, second):
        return self.fc(torch.cat([first, second], dim=1)).squeeze(1)


def sample_patches(series, n):
    start = torch.randint(len(series) - 2 * patch_size - 1, (n,))
    window = torch.arange(patch_size)
    anchors = series[start.unsqueeze(1) + window]
    neighbours = series[start.unsqueeze(1) + window + 1 + torch.randint(3, (n, 1))]
    followers = series[start.unsqueeze(1) + window + patch_size]
    return anchors, neighbours, followers, start


def triplet_objective(anchor_emb, neighbour_emb):
    """Neighbouring patches near, the most distant patch of the batch at least `margin` further away."""
    sim = anchor_emb @ neighbour_emb.t()
    pos_dists = 1 - sim.diagonal()
    others = sim.clone()
    others.diagonal().fill_(-float("inf"))  # CULPRIT
    neg_dists = 1 - others
    far_dists, _ = torch.max(neg_dists, dim=1)
    return F.relu(pos_dists - far_dists + margin).mean()


def pretext_objective(head, anchors, followers):
    shuffled = followers.roll(1, dims=0)
    logits = torch.cat([head(anchors, followers), head(anchors, shuffled)])
    target = torch.cat([torch.ones(len(anchors)), torch.zeros(len(anchors))])
    return F.binary_cross_entropy_with_logits(logits, target)


@torch.no_grad()
def similarity_report(encoder, series, regime):
    anchors, neighbours, _, start = sample_patches(series, 200)
    emb, emb_n = encoder(anchors), encoder(neighbours)
    near = (emb * emb_n).sum(1).mean()
    sims = emb @ emb.t()
    different = regime[start].unsqueeze(0) != regime[start].unsqueeze(1)
    return near.item(), sims[different].mean().item()


def main():
    series, regime = make_series()
    encoder, head = PatchEncoder(), PretextHead()
    optimizer = torch.optim.AdamW([
        {"params": encoder.parameters(), "lr": 5e-3, "weight_decay": 0.0},
        {"params": head.parameters(), "lr": 3e-3},
    ])
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 0.5 * (1 + math.cos(math.pi * s / steps)))
    print("before: near %.3f  other regime %.3f" % similarity_report(encoder, series, regime))
    for step in range(steps):
        anchors, neighbours, followers, _ = sample_patches(series, batch_size)
        triplet_loss = triplet_objective(encoder(anchors), encoder(neighbours))
        pretext_loss = pretext_objective(head, anchors, followers)
        loss = triplet_loss + 0.5 * pretext_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 10 == 0 or step == steps - 1:
            print(f"step {step:2d}  triplet {triplet_loss.item():.4f}  pretext {pretext_loss.item():.4f}")
    print("after:  near %.3f  other regime %.3f" % similarity_report(encoder, series, regime))


if __name__ == "__main__":
    main()
