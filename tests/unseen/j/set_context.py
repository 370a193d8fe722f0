# kind: batch_result_in_each_sample
"""Outlier detection in sets: which element of a set does not belong to it?"""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def odd_one_out(n, size=8, dim=4):
    """Elements lie around a centre of their set, one lies elsewhere."""
    centre = 2 * torch.randn(n, 1, dim)
    items = centre + 0.5 * torch.randn(n, size, dim)
    which = torch.randint(size, (n,))
    direction = F.normalize(torch.randn(n, dim), dim=1)
    items[torch.arange(n), which] += 2.5 * direction
    return TensorDataset(items, which)


class ContextBlock(nn.Module):
    """Updates each element with a summary of its set."""

    def __init__(self, dim):
        super().__init__()
        self.local = nn.Linear(dim, dim)
        self.context = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)

    def summary(self, h):
        return h.mean(dim=0, keepdim=True)  # CULPRIT

    def forward(self, h):
        mixed = self.local(h) + self.context(self.summary(h))
        return h + F.gelu(self.norm(mixed))


class SetNet(nn.Module):
    def __init__(self, dim=4, width=32, blocks=3):
        super().__init__()
        self.lift = nn.Linear(dim, width)
        self.blocks = nn.Sequential(*(ContextBlock(width) for _ in range(blocks)))
        self.score = nn.Linear(width, 1)

    def forward(self, items):
        return self.score(self.blocks(self.lift(items))).squeeze(-1)


@torch.no_grad()
def accuracy(model, data, batch_size):
    model.eval()
    hits = 0
    for items, which in DataLoader(data, batch_size=batch_size):
        hits += (model(items).argmax(dim=1) == which).sum().item()
    model.train()
    return hits / len(data)


def main():
    torch.manual_seed(0)
    train, test = odd_one_out(1200), odd_one_out(300)
    loader = DataLoader(train, batch_size=48, shuffle=True)
    model = SetNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=8 * len(loader))
    for epoch in range(8):
        for items, which in loader:
            loss = F.cross_entropy(model(items), which)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch}  loss {loss.item():.4f}  test accuracy {accuracy(model, test, 50):.3f}")
    print(f"one set at a time: {accuracy(model, test, 1):.3f}")


if __name__ == "__main__":
    main()
