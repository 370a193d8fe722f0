"""Embedding network for synthetic "faces" with identity-balanced batches and an all-triplets margin loss.

TRUTH: The triplet loss averages over the triplets that violate the margin. As soon as a batch has none, the sum is
0 and the count is 0: the loss is 0/0 = NaN, the backward starts from 1/0 = inf, which the zeros of the triplet mask
turn into NaN, and the optimizer step destroys all the weights, so from then on everything is NaN. It happens in the middle of a run that was going well,
at the first batch without a violating triplet. Fix: average over max(count, 1) (or return the plain mean when the
count is 0). Drawn from KevinMusgrave/pytorch-metric-learning#107.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class FaceFactory:
    """Images are a fixed random rendering of an identity code and a pose/lighting code."""

    def __init__(self, n_ids=24, size=12, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.size = size
        self.ids = torch.randn(n_ids, 10, generator=g)
        self.w1 = torch.randn(14, 64, generator=g) / math.sqrt(14)
        self.w2 = torch.randn(64, size * size, generator=g) / math.sqrt(64)
        self.gen = torch.Generator().manual_seed(seed + 1)

    def render(self, labels):
        pose = 1.2 * torch.randn(len(labels), 4, generator=self.gen)
        h = torch.tanh(torch.cat([self.ids[labels], pose], dim=1) @ self.w1)
        img = h @ self.w2
        img = img + 0.1 * torch.randn(img.shape, generator=self.gen)
        return img.view(-1, 1, self.size, self.size)

    def balanced_batch(self, p, k):
        who = torch.randperm(len(self.ids), generator=self.gen)[:p]
        labels = who.repeat_interleave(k)
        return self.render(labels), labels


class EmbedNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Linear(32 * 9, dim)

    def forward(self, x):
        return F.normalize(self.fc(self.features(x).flatten(1)), dim=1)


class TripletMarginLoss(nn.Module):
    def __init__(self, margin=0.2, avg_non_zero_only=True):
        super().__init__()
        self.margin = margin
        self.avg_non_zero_only = avg_non_zero_only
        self.num_non_zero_triplets = 0

    def valid_mask(self, labels):
        same = labels.unsqueeze(0) == labels.unsqueeze(1)
        pos = same & ~torch.eye(len(labels), dtype=torch.bool)
        return (pos.unsqueeze(2) & (~same).unsqueeze(1)).float()

    def forward(self, emb, labels):
        dist = 2 - 2 * emb @ emb.t()
        relued = F.relu(dist.unsqueeze(2) - dist.unsqueeze(1) + self.margin)
        relued = relued * self.valid_mask(labels)
        self.num_non_zero_triplets = int((relued > 0).sum())
        if self.avg_non_zero_only:
            return torch.sum(relued) / self.num_non_zero_triplets  # CULPRIT
        return torch.mean(relued)


@torch.no_grad()
def recall_at_1(net, factory, per_id=6):
    net.eval()
    labels = torch.arange(len(factory.ids)).repeat_interleave(per_id)
    emb = net(factory.render(labels))
    net.train()
    sim = emb @ emb.t()
    sim.fill_diagonal_(-2.0)
    nearest = sim.argmax(dim=1)
    return (labels[nearest] == labels).float().mean().item()


def main():
    torch.manual_seed(0)
    factory = FaceFactory()
    net = EmbedNet()
    criterion = TripletMarginLoss(margin=0.2)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for it in range(1, 241):
        images, labels = factory.balanced_batch(p=6, k=4)
        loss = criterion(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 20 == 0:
            print(f"iter {it:4d}  loss {loss.item():.4f}  active {criterion.num_non_zero_triplets:4d}  "
                  f"recall@1 {recall_at_1(net, factory):.3f}")


if __name__ == "__main__":
    main()
