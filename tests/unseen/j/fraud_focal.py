# kind: weight_of_a_mean_loss
"""Fraud detection on imbalanced card payments with a focal loss."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class FocalLoss(nn.Module):
    """Down-weights the easy payments by (1 - p)^gamma."""

    def __init__(self, gamma=2.0, alpha=0.75):
        super().__init__()
        self.gamma = gamma
        self.register_buffer("alpha", torch.tensor([1 - alpha, alpha]))

    def forward(self, logits, target):
        ce = F.cross_entropy(logits, target)  # CULPRIT
        pt = torch.exp(-ce)
        return (self.alpha[target] * (1 - pt) ** self.gamma * ce).mean()


class PaymentNet(nn.Module):
    def __init__(self, merchants=20, numeric=6):
        super().__init__()
        self.merchant = nn.Embedding(merchants, 4)
        self.mlp = nn.Sequential(
            nn.Linear(4 + numeric, 48, bias=False),
            nn.BatchNorm1d(48),
            nn.ReLU(),
            nn.Linear(48, 2),
        )

    def forward(self, merchant, numeric):
        return self.mlp(torch.cat([self.merchant(merchant), numeric], dim=1))


def payments(n, seed):
    g = torch.Generator().manual_seed(seed)
    merchant = torch.randint(0, 20, (n,), generator=g)
    numeric = torch.randn(n, 6, generator=g)
    risk = numeric[:, 0] * numeric[:, 1] + 0.8 * numeric[:, 2] + (merchant % 5 == 0).float()
    noise = 0.3 * torch.randn(n, generator=g)
    return TensorDataset(merchant, numeric, (risk + noise > 2.2).long())


def collect(model, loader):
    model.eval()
    with torch.no_grad():
        parts = [(model(m, x).softmax(1)[:, 1], y) for m, x, y in loader]
    return (torch.cat(p) for p in zip(*parts))


def average_precision(score, label):
    label = label[score.argsort(descending=True)].float()
    precision = label.cumsum(0) / torch.arange(1, len(label) + 1)
    return (precision * label).sum().item() / label.sum().item()


def fit(epochs=8):
    torch.manual_seed(0)
    train = DataLoader(payments(2000, 0), batch_size=100, shuffle=True)
    test = DataLoader(payments(1000, 1), batch_size=500)
    model, criterion = PaymentNet(), FocalLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for merchant, numeric, label in train:
            loss = criterion(model(merchant, numeric), label)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        score, label = collect(model, test)
        print(f"epoch {epoch} loss {total / len(train):.4f} test AP {average_precision(score, label):.3f}")


if __name__ == "__main__":
    fit()
