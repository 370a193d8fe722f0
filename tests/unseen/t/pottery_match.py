"""Metric learning on pottery sherds: sherds of one workshop are to lie close together.

TRUTH: The triplet loss is `pos - neg` without margin and hinge: it has no least value, and the net lowers it for
ever by blowing the embeddings up. The loss runs to minus huge numbers, dominated by triplets long solved, and
retrieval stays poor. Use relu(pos - neg + margin).
"""
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset


class Miner(Protocol):
    def __call__(self, dist: torch.Tensor, label: torch.Tensor): ...


def hardest(dist, label):
    """Farthest of the same workshop and nearest of another one, for every anchor."""
    same = label[:, None] == label[None, :]
    pos = dist.masked_fill(~same, float("-inf")).amax(1)
    neg = dist.masked_fill(same, float("inf")).amin(1)
    return pos, neg


class TripletObjective(nn.Module):
    def __init__(self, miner: Miner, margin: float = 1.0):
        super().__init__()
        self.miner, self.margin = miner, margin

    @staticmethod
    def distances(code):
        sq = (code[:, None] - code[None, :]).square().sum(-1)
        return sq

    def forward(self, code, label):
        pos, neg = self.miner(self.distances(code), label)
        return (pos - neg + self.margin).mean()  # CULPRIT


class BalancedSampler(Sampler):
    """Batches of k sherds from each of m workshops."""

    def __init__(self, labels, m, k, batches, seed):
        self.by = [torch.nonzero(labels == c).flatten() for c in labels.unique()]
        self.m, self.k, self.batches = m, k, batches
        self.gen = torch.Generator().manual_seed(seed)

    def __len__(self):
        return self.batches

    def __iter__(self):
        for _ in range(self.batches):
            chosen = torch.randperm(len(self.by), generator=self.gen)[: self.m].tolist()
            rows = [self.by[c][torch.randperm(len(self.by[c]), generator=self.gen)[: self.k]] for c in chosen]
            yield torch.cat(rows).tolist()


def sherds(n_per, workshops, seed):
    shared = torch.Generator().manual_seed(100)
    style = torch.randn(workshops, 4, generator=shared)
    lift = torch.randn(4, 24, generator=shared)
    wear = torch.randn(3, 24, generator=shared) * 3
    gen = torch.Generator().manual_seed(seed)
    label = torch.arange(workshops).repeat_interleave(n_per)
    z = style[label] + 0.3 * torch.randn(len(label), 4, generator=gen)
    x = torch.tanh(z) @ lift + torch.randn(len(label), 3, generator=gen) @ wear
    return x + 0.2 * torch.randn(x.shape, generator=gen), label


@torch.no_grad()
def recall_at_1(net, x, label):
    net.eval()
    code = net(x)
    net.train()
    dist = torch.cdist(code, code).fill_diagonal_(float("inf"))
    return (label[dist.argmin(1)] == label).float().mean().item(), code.norm(dim=1).mean().item()


def main():
    torch.manual_seed(44)
    x, label = sherds(40, 12, 1)
    held = sherds(25, 12, 2)
    sampler = BalancedSampler(label, m=8, k=5, batches=60, seed=3)
    loader = DataLoader(TensorDataset(x, label), batch_sampler=sampler)
    net = nn.Sequential(nn.Linear(24, 64), nn.LeakyReLU(0.1), nn.Linear(64, 8))
    objective = TripletObjective(hardest)
    opt = torch.optim.Adam(net.parameters(), lr=6e-3)
    for epoch in range(14):
        for xb, yb in loader:
            loss = objective(net(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        recall, size = recall_at_1(net, *held)
        print(f"epoch {epoch}  loss {loss.item():.4g}  recall@1 {recall:.3f}  mean norm {size:.3g}")


if __name__ == "__main__":
    main()
