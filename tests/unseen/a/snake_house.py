"""discuss.pytorch.org, "Regression network only predicts the mean"
Symptom: the loss goes down a bit, then stays near the variance of the target,
predictions are all nearly the same number.
EXPECT: runs
TRUTH: The prediction is (N, 1) and the target (N,), so mse_loss broadcasts to (N, N) and
the best answer is the mean of the targets. Give both one shape (squeeze(1) on the output, or y[:, None])."""
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(0)


class PriceNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.body(x)  # CULPRIT


def load():
    x = torch.randn(256, 6)
    y = x @ torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0, 1.0]) + 0.1 * torch.randn(256)
    return DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)


def fit(model, loader, epochs=15):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    crit = nn.MSELoss()
    for ep in range(epochs):
        tot = 0.0
        for xb, yb in loader:
            opt.zero_grad()
            loss = crit(model(xb), yb)  # CULPRIT
            loss.backward()
            opt.step()
            tot += loss.item()
    print("final loss", tot / len(loader))


fit(PriceNet(6), load())
