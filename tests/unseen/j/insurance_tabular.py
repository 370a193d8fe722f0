# kind: index_out_of_range
"""Claim cost from categorical columns; rare categories share one extra code."""
from collections import Counter

import torch
from torch import nn
import torch.nn.functional as F


def policies(n, gen):
    # region, car brand, tariff; a few values are rare
    region = torch.randint(0, 12, (n,), generator=gen)
    brand = (torch.rand(n, generator=gen).pow(3) * 30).long()
    tariff = torch.randint(0, 5, (n,), generator=gen)
    cost = 0.3 * (region % 4).float() - 0.5 * (brand < 3).float() + 0.2 * tariff.float()
    return torch.stack([region, brand, tariff], 1), cost + 0.1 * torch.randn(n, generator=gen)


class CategoryCodes:
    """Numbers the frequent values of a column 1, 2, ...; code 0 is for everything else."""

    def __init__(self, min_count=20):
        self.min_count = min_count

    def fit(self, column):
        counts = Counter(column.tolist())
        frequent = sorted(v for v, c in counts.items() if c >= self.min_count)
        self.codes = {value: i for i, value in enumerate(frequent, start=1)}
        return self

    def transform(self, column):
        return torch.tensor([self.codes.get(v, 0) for v in column.tolist()])

    @property
    def size(self):
        return len(self.codes)  # CULPRIT


class CostModel(nn.Module):
    def __init__(self, sizes, dim=6):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, dim) for size in sizes)
        self.mlp = nn.Sequential(nn.Linear(dim * len(sizes), 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, codes):
        parts = [table(codes[:, i]) for i, table in enumerate(self.tables)]
        return self.mlp(torch.cat(parts, 1)).squeeze(-1)


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(4)
    raw, cost = policies(2000, gen)
    encoders = [CategoryCodes().fit(column) for column in raw.t()]
    codes = torch.stack([e.transform(c) for e, c in zip(encoders, raw.t())], 1)
    model = CostModel([e.size for e in encoders])
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        total = 0.0
        for pick in torch.randperm(len(codes)).split(100):
            loss = F.mse_loss(model(codes[pick]), cost[pick])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() / 20
        print(f"epoch {epoch}: mse {total:.4f}")


if __name__ == "__main__":
    main()
