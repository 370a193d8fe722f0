"""Classifies damage of parcels with a sampler that draws all damage classes equally often."""
import itertools
import random
from collections import Counter

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler


class Parcels(Dataset):
    shares = (0.88, 0.08, 0.04)

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.label = torch.multinomial(torch.tensor(self.shares), n, replacement=True, generator=g)
        centre = torch.randn(len(self.shares), 8, generator=g) * 0.5
        self.shock = centre[self.label] + torch.randn(n, 8, generator=g)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.shock[i], self.label[i]


class EqualShares(Sampler):
    def __init__(self, labels, classes, length, seed):
        self.pools = [[] for _ in range(classes)]
        for index, label in enumerate(labels.tolist()):
            self.pools[label].append(index)
        self.length = length
        self.rng = random.Random(seed)

    def __len__(self):
        return self.length

    def __iter__(self):
        turn = itertools.cycle(self.pools)
        for pool in itertools.islice(turn, self.length):
            yield self.rng.choice(pool)


def recalls(model, data):
    with torch.no_grad():
        guess = model(data.shock).argmax(1)
    return [(guess[data.label == c] == c).float().mean().item() for c in range(len(data.shares))]


def main():
    torch.manual_seed(1)
    train = Parcels(900, seed=33)
    classes = len(train.shares)
    loader = DataLoader(train, batch_size=60, sampler=EqualShares(train.label, classes, 600, seed=4))
    model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, classes))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    drawn = Counter()
    for epoch in range(6):
        total = 0.0
        for shock, label in loader:
            drawn.update(label.tolist())
            loss = nn.functional.cross_entropy(model(shock), label)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch}  loss {total / len(loader):.4f}  recall", [round(r, 2) for r in recalls(model, train)])
    print("drawn per class", [drawn[c] for c in range(classes)])


if __name__ == "__main__":
    main()
