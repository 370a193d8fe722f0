# kind: classes_in_another_dimension
"""Tags each of the twelve eighths of a 12/8 bar with the root of its chord."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

ROOTS = 12
BEATS = 12


class Bars(Dataset):
    """Chroma vectors per eighth; the chord changes every three or six eighths."""

    def __init__(self, n):
        every = torch.where(torch.rand(n, 1) < 0.5, 3, 6)
        slot = torch.arange(BEATS) // every
        self.root = torch.randint(0, ROOTS, (n, 4)).gather(1, slot)
        triad = torch.stack([torch.eye(ROOTS)[(self.root + k) % ROOTS] for k in (0, 4, 7)]).sum(0)
        self.chroma = 0.6 * triad + 0.5 * torch.randn(n, BEATS, ROOTS)

    def __len__(self):
        return len(self.root)

    def __getitem__(self, i):
        return self.chroma[i], self.root[i]


class Tagger(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(ROOTS, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, ROOTS)

    def forward(self, chroma):
        return self.out(self.rnn(chroma)[0])


class SequenceLoss(nn.Module):
    """Cross entropy in which the first eighth after a change can weigh more."""

    def __init__(self, change_weight=1.5):
        super().__init__()
        self.change_weight = change_weight
        self.ce = nn.CrossEntropyLoss(reduction="none")

    def weights(self, root):
        changed = torch.ones_like(root, dtype=torch.bool)
        changed[:, 1:] = root[:, 1:] != root[:, :-1]
        w = torch.where(changed, self.change_weight, 1.0)
        return w / w.mean()

    def forward(self, scores, root):
        return (self.ce(scores, root) * self.weights(root)).mean()  # CULPRIT


class AccuracyMeter:
    def __init__(self):
        self.hits = self.total = 0

    def update(self, scores, root):
        self.hits += (scores.argmax(dim=-1) == root).sum().item()
        self.total += root.numel()

    @property
    def value(self):
        return self.hits / max(self.total, 1)


def main():
    torch.manual_seed(0)
    train = DataLoader(Bars(480), batch_size=40, shuffle=True)
    val = DataLoader(Bars(120), batch_size=60)
    model, criterion = Tagger(), SequenceLoss()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        model.train()
        for chroma, root in train:
            loss = criterion(model(chroma), root)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        meter = AccuracyMeter()
        with torch.no_grad():
            for chroma, root in val:
                meter.update(model(chroma), root)
        print(f"epoch {epoch} loss {loss.item():.3f} val accuracy {meter.value:.3f}")


if __name__ == "__main__":
    main()
