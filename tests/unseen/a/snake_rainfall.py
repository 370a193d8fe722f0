"""Stack Overflow, "RMSE loss becomes nan although MSE works"
Symptom: the network fits some samples exactly (inputs are zero, target is zero), then all weights are nan.
EXPECT: runs
TRUTH: The derivative of sqrt at 0 is infinite; a row with zero error gives inf * 0 = nan in the gradient.
Add a small epsilon inside the sqrt."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class RMSELoss(nn.Module):
    def __init__(self, reduction="mean"):
        super().__init__()
        self.reduction = reduction

    def forward(self, a, b):
        per_row = torch.sqrt(((a - b) ** 2).mean(dim=1))  # CULPRIT
        return per_row.mean() if self.reduction == "mean" else per_row


def rainfall(n=200):
    x = torch.rand(n, 6)
    y = x @ torch.rand(6, 3)
    dry = torch.rand(n) < 0.05
    x[dry], y[dry] = 0.0, 0.0
    return x, y


x, y = rainfall()
net = nn.Sequential(nn.Linear(6, 16, bias=False), nn.ReLU(), nn.Linear(16, 3, bias=False))
loss_fn = RMSELoss()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(80):
    loss = loss_fn(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
print("loss", loss.item())
