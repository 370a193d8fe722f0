"""discuss.pytorch.org, "Training stops improving after the first epoch"
Symptom: the first hundred iterations are good and then the loss is a flat line.
EXPECT: runs
TRUTH: The epoch-wise ExponentialLR is stepped once per batch, so the rate is practically zero
after one epoch. Move scheduler.step() out of the batch loop."""
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ExponentialLR

torch.manual_seed(0)
N = 640
feats = torch.randn(N, 12)
w = torch.randn(12, 1)
target = torch.tanh(feats @ w) + 0.3 * feats[:, :1] ** 2

net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
scheduler = ExponentialLR(optimizer, gamma=0.8)


def train_one_epoch(ep):
    total = 0.0
    for idx in torch.randperm(N).split(16):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(feats[idx]), target[idx])
        loss.backward()
        optimizer.step()
        scheduler.step()  # CULPRIT
        total += loss.item()
    return total / (N // 16)


history = []
for ep in range(8):
    history.append(train_one_epoch(ep))
    print(f"epoch {ep}: {history[-1]:.4f}")
print("loss", history[-1])
