# kind: non_scalar_backward
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


@dataclass
class Options:
    users: int = 80
    items: int = 120
    dim: int = 16
    lr: float = 0.02
    reduction: str = "none"  # CULPRIT
    epochs: int = 5
    decay: float = 1e-4
    history: list = field(default_factory=list)


class Purchases(Dataset):
    """(user, bought item, weight) triples from a hidden factor model."""

    def __init__(self, opt):
        g = torch.Generator().manual_seed(11)
        u = torch.randn(opt.users, 4, generator=g)
        v = torch.randn(opt.items, 4, generator=g)
        self.bought = (u @ v.t()) > 2.0
        self.pairs = self.bought.nonzero()
        # popular items count less
        self.weight = 1.0 / self.bought.sum(0).clamp_min(1).float().sqrt()

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, k):
        user, item = self.pairs[k]
        neg = torch.randint(0, self.bought.size(1), ())
        while self.bought[user, neg]:
            neg = torch.randint(0, self.bought.size(1), ())
        return user, item, neg, self.weight[item]


class BPRLoss(nn.Module):
    def __init__(self, reduction="mean"):
        super().__init__()
        self.reduction = reduction

    def forward(self, pos, neg, weight):
        loss = -F.logsigmoid(pos - neg)
        loss = weight * loss
        if self.reduction == "mean":
            return loss.sum() / weight.sum()
        return loss


class MatrixFactorization(nn.Module):
    def __init__(self, opt):
        super().__init__()
        self.user = nn.Embedding(opt.users, opt.dim)
        self.item = nn.Embedding(opt.items, opt.dim)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)

    def forward(self, user, item):
        return (self.user(user) * self.item(item)).sum(-1)


def fit(opt):
    torch.manual_seed(0)
    loader = DataLoader(Purchases(opt), batch_size=128, shuffle=True)
    model = MatrixFactorization(opt)
    criterion = BPRLoss(opt.reduction)
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr, weight_decay=opt.decay)
    for _ in range(opt.epochs):
        losses = []
        for user, pos, neg, weight in loader:
            optimizer.zero_grad()
            loss = criterion(model(user, pos), model(user, neg), weight)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        opt.history.append(sum(losses) / len(losses))
    return opt.history


print([round(v, 4) for v in fit(Options())])
