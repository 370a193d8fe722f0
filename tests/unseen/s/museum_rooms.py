"""Predicts how a museum visit is rated from the rooms a visitor stopped in, by attention pooling.

TRUTH: visits without a single stop have a mask of only False, so their scores are all -inf and the softmax over them is NaN, which spreads to the loss and all weights; use a large finite number in place of -inf (their pooled vector is then 0, as padding rooms embed to 0).
"""
from typing import NamedTuple

import torch
from torch import nn


class Visits(NamedTuple):
    rooms: torch.Tensor
    stopped: torch.Tensor
    rating: torch.Tensor

    def take(self, idx):
        return Visits(*(t[idx] for t in self))


def collect_visits(n, rooms, longest, seed):
    g = torch.Generator().manual_seed(seed)
    appeal = torch.randn(rooms + 1, generator=g)
    ids = torch.randint(1, rooms + 1, (n, longest), generator=g)
    stops = torch.randint(0, longest + 1, (n,), generator=g)
    stopped = torch.arange(longest)[None, :] < stops[:, None]
    ids = ids * stopped
    mean_appeal = (appeal[ids] * stopped).sum(1) / stops.clamp(min=1)
    return Visits(ids, stopped, mean_appeal + 0.05 * torch.randn(n, generator=g))


def additive_mask(stopped, dtype):
    blocked = torch.zeros(stopped.shape, dtype=dtype)
    blocked[~stopped] = float("-inf")  # CULPRIT
    return blocked


class VisitPooling(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.randn(dim) / dim ** 0.5)

    def forward(self, rooms, stopped):
        scores = rooms @ self.query + additive_mask(stopped, rooms.dtype)
        weights = nn.functional.softmax(scores, dim=1)
        return torch.einsum("nl,nld->nd", weights, rooms)


class RatingModel(nn.Module):
    def __init__(self, rooms, dim=16):
        super().__init__()
        self.embed = nn.Embedding(rooms + 1, dim, padding_idx=0)
        self.pool = VisitPooling(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, visits):
        pooled = self.pool(self.embed(visits.rooms), visits.stopped)
        return self.out(pooled).squeeze(1)


def main():
    torch.manual_seed(8)
    visits = collect_visits(384, rooms=12, longest=7, seed=19)
    model = RatingModel(rooms=12)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    g = torch.Generator().manual_seed(0)
    for epoch in range(10):
        total = 0.0
        for idx in torch.randperm(384, generator=g).split(64):
            batch = visits.take(idx)
            loss = nn.functional.mse_loss(model(batch), batch.rating)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            total += loss.item() * len(idx)
        print(f"epoch {epoch}  mse {total / 384:.4f}")


if __name__ == "__main__":
    main()
