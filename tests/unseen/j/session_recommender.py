# kind: nan_softmax_fully_masked
"""Next-item recommendation: attention over the recent clicks of a visitor."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Sessions(Dataset):
    """Clicks of one visitor stay within a group of items; new visitors have none yet."""

    def __init__(self, n, n_items=60, groups=6, max_clicks=8):
        self.rows = []
        size = n_items // groups
        for _ in range(n):
            group = int(torch.randint(groups, (1,)))
            clicks = int(torch.randint(0, max_clicks + 1, (1,)))
            items = 1 + group * size + torch.randint(size, (clicks + 1,))
            self.rows.append((items[:-1], items[-1]))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows, max_clicks=8):
    history = torch.zeros(len(rows), max_clicks, dtype=torch.long)
    for i, (clicks, _) in enumerate(rows):
        history[i, :len(clicks)] = clicks
    return history, torch.stack([nxt for _, nxt in rows])


class AttentivePool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.key = nn.Linear(dim, dim)
        self.query = nn.Parameter(torch.randn(dim) / dim ** 0.5)

    def forward(self, x, present):
        scores = torch.tanh(self.key(x)) @ self.query
        scores = scores.masked_fill(~present, float("-inf"))  # CULPRIT
        weights = scores.softmax(dim=-1)
        return (weights.unsqueeze(-1) * x).sum(dim=1)


class Recommender(nn.Module):
    def __init__(self, n_items=60, dim=24):
        super().__init__()
        self.items = nn.Embedding(n_items + 1, dim, padding_idx=0)
        self.pool = AttentivePool(dim)
        self.mix = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, n_items)

    def forward(self, history):
        pooled = self.pool(self.items(history), history > 0)
        return self.out(F.relu(self.mix(pooled)))


def main():
    torch.manual_seed(0)
    loader = DataLoader(Sessions(1600), batch_size=64, shuffle=True, collate_fn=collate)
    model = Recommender()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        total = 0.0
        for history, nxt in loader:
            # outputs are numbered from 0, items from 1
            loss = F.cross_entropy(model(history), nxt - 1)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.3f}")


if __name__ == "__main__":
    main()
