"""discuss.pytorch.org, "IterableDataset with a generator: a new iterator in each epoch?"
Symptom: none.
EXPECT: runs
TRUTH: Correct. __iter__ is a generator function, each epoch's loop makes a new generator; the shuffling buffer keeps pairs together."""
import random
import torch
import torch.nn as nn
from torch.utils.data import IterableDataset, DataLoader

random.seed(0)
torch.manual_seed(0)


class Stream(IterableDataset):
    def __init__(self, rows, buffer=50):
        self.rows, self.buffer = rows, buffer

    def source(self):
        yield from self.rows

    def __iter__(self):
        pool = []
        for row in self.source():
            pool.append(row)
            if len(pool) >= self.buffer:
                yield pool.pop(random.randrange(len(pool)))
        random.shuffle(pool)
        yield from pool


def rows(n=320):
    x = torch.randn(n, 5)
    y = (x[:, 0] > x[:, 1]).long()
    return list(zip(x, y))


loader = DataLoader(Stream(rows()), batch_size=32)
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(12):
    total = n = 0
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        n += 1
    if epoch % 4 == 0:
        print(epoch, n, total / n)
print("loss", total / n)
