# kind: sequence_along_batch
"""Activity recognition from accelerometer windows."""
from dataclasses import dataclass, asdict

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class RnnConfig:
    input_size: int = 3
    hidden_size: int = 32
    num_layers: int = 1
    batch_first: bool = False  # CULPRIT


class Windows(Dataset):
    """Windows (time, 3); the class is the order in which two gestures occur."""

    def __init__(self, n, time=20, seed=0):
        gen = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 3, (n,), generator=gen)
        self.x = 0.3 * torch.randn(n, time, 3, generator=gen)
        for k in range(n):
            first = int(torch.randint(0, time // 2 - 2, (1,), generator=gen))
            self.x[k, first:first + 3, int(self.y[k])] += 1.5
            second = int(torch.randint(time // 2, time - 3, (1,), generator=gen))
            self.x[k, second:second + 3, (int(self.y[k]) + int(torch.randint(1, 3, (1,), generator=gen))) % 3] += 1.5

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class ActivityNet(nn.Module):
    def __init__(self, cfg, classes=3):
        super().__init__()
        self.rnn = nn.LSTM(**asdict(cfg))
        self.norm = nn.LayerNorm(cfg.hidden_size)
        self.head = nn.Linear(cfg.hidden_size, classes)

    def forward(self, x):
        """x: (batch, time, channel)"""
        states, _ = self.rnn(x)
        return self.head(self.norm(states[:, -1]))


def train_epoch(model, loader, opt, criterion):
    hits = seen = 0
    total = 0.0
    for x, y in loader:
        logits = model(x)
        loss = criterion(logits, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        total += loss.item() * len(y)
        hits += (logits.argmax(1) == y).sum().item()
        seen += len(y)
    return total / seen, hits / seen


def main():
    torch.manual_seed(0)
    loader = DataLoader(Windows(512), batch_size=32, shuffle=True)
    model = ActivityNet(RnnConfig())
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(10):
        loss, acc = train_epoch(model, loader, opt, nn.CrossEntropyLoss())
        print(f"epoch {epoch} loss {loss:.4f} accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
