# kind: iterator_used_up
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(37)
DIM = 14


class Queries(Dataset):
    """One query: ten documents with features and a graded relevance."""

    def __init__(self, n, docs=10):
        self.x = torch.randn(n, docs, DIM)
        w = torch.linspace(1.5, -1.5, DIM)
        score = self.x @ w + torch.sin(2 * self.x[..., 0]) + 0.3 * torch.randn(n, docs)
        self.grade = (score > 0).long() + (score > 3).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.grade[i]


def normalise(batch):
    x, grade = batch
    return (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-6), grade


class Mapped:
    """A loader with a function applied to every batch."""

    def __init__(self, loader, fn):
        self.loader = loader
        self.batches = map(fn, loader)  # CULPRIT

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        return iter(self.batches)


class Scorer(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def ranknet_loss(score, grade):
    gap = score[:, :, None] - score[:, None, :]
    better = (grade[:, :, None] > grade[:, None, :]).float()
    return (F.softplus(-gap) * better).sum() / better.sum().clamp(min=1)


@torch.no_grad()
def pair_accuracy(model, data):
    x, grade = normalise((data.x, data.grade))
    score = model(x)
    better = grade[:, :, None] > grade[:, None, :]
    return (score[:, :, None] > score[:, None, :])[better].float().mean().item()


def main(epochs=8):
    train, test = Queries(300), Queries(80)
    batches = Mapped(DataLoader(train, batch_size=30, shuffle=True), normalise)
    model = Scorer()
    opt = torch.optim.Adagrad(model.parameters(), lr=0.03)
    updates = 0
    for epoch in range(epochs):
        total = 0.0
        for x, grade in batches:
            loss = ranknet_loss(model(x), grade)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            updates += 1
        print(f"epoch {epoch} loss {total / len(batches):.4f} updates {updates} test {pair_accuracy(model, test):.3f}")


main()
