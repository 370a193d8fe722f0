"""NVIDIA/apex#358
Symptom: after some iterations the focal loss is nan, although y_pred is clamped with eps before the logarithm.
EXPECT: runs
TRUTH: 1 - 1e-8 is 1 in float32, so log(1 - y_pred) is -inf and 0 * -inf is nan; use a larger eps (1e-6) or add eps inside the logarithms.
"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, eps=1e-6):
        super().__init__()
        self.gamma = gamma
        self.eps = eps

    def forward(self, y_pred, y_true):
        y_pred = torch.clamp(y_pred, 1e-8, 1 - 1e-8)  # CULPRIT
        pos = y_true * torch.pow(1 - y_pred, self.gamma) * torch.log(y_pred)
        neg = (1 - y_true) * torch.pow(y_pred, self.gamma) * torch.log(1 - y_pred)  # CULPRIT
        return -(pos + neg).sum() / y_pred.size(0)


class FraudNet(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_features, 32), nn.ReLU(),
            nn.Linear(32, 32), nn.ReLU(),
            nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, x):
        return self.layers(x).squeeze(1)


def make_transactions(n):
    y = (torch.rand(n) < 0.3).float()
    amount = torch.exp(1.2 * torch.randn(n, 1))
    x = torch.randn(n, 9) + 1.2 * y.unsqueeze(1)
    return torch.cat([x * amount, amount], 1), y


def run_epoch(model, loader, criterion, optimizer):
    model.train()
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def recall(model, x, y):
    model.eval()
    return (model(x)[y == 1] > 0.5).float().mean().item()


def main():
    torch.manual_seed(21)
    torch.set_num_threads(1)
    x, y = make_transactions(3000)
    x_test, y_test = make_transactions(600)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = FraudNet(x.size(1))
    criterion = FocalLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(8):
        loss = run_epoch(model, loader, criterion, optimizer)
        print("epoch %d  loss %.5f  recall %.3f" % (epoch, loss, recall(model, x_test, y_test)))


if __name__ == "__main__":
    main()
