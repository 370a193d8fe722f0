"""Sharpness-aware minimisation (SAM) on noisy labels, small CNN with batch norm.

TRUTH: correct: each step runs two forward/backward passes; between them the weights are moved in place under no_grad to the
worst point of a small ball and then put back before the base optimizer steps with the second gradient. The graph of the first
pass is already consumed when the weights change, gradients are zeroed in between, and the batch norm statistics are frozen in
the second pass by setting momentum to 0 and restored afterwards.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self):
        norm = torch.norm(torch.stack([p.grad.norm(p=2) for g in self.param_groups
                                       for p in g["params"] if p.grad is not None]), p=2)
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale)
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        self.zero_grad()


def disable_running_stats(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.backup_momentum = m.momentum
            m.momentum = 0


def enable_running_stats(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d) and hasattr(m, "backup_momentum"):
            m.momentum = m.backup_momentum


def glyphs(n, seed, flip=0.0):
    base = np.random.RandomState(3)
    protos = (base.rand(6, 10, 10) < 0.35).astype(np.float32)
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 6, n)
    x = protos[y] + rng.normal(0, 0.35, (n, 10, 10))
    for i in range(n):
        x[i] = np.roll(x[i], rng.randint(-1, 2, 2), axis=(0, 1))
    noisy = y.copy()
    m = rng.rand(n) < flip
    noisy[m] = rng.randint(0, 6, m.sum())
    return torch.tensor(x, dtype=torch.float32).unsqueeze(1), torch.tensor(noisy)


class ConvNet(nn.Module):
    def __init__(self, classes=6, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.Flatten(), nn.Linear(2 * width * 25, classes))

    def forward(self, x):
        return self.net(x)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


def main():
    torch.manual_seed(1)
    train = DataLoader(TensorDataset(*glyphs(800, 1, flip=0.15)), batch_size=50, shuffle=True)
    x_test, y_test = glyphs(400, 2)
    model = ConvNet()
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.05, momentum=0.9, weight_decay=5e-4)
    for epoch in range(1, 9):
        first, second = 0.0, 0.0
        for x, y in train:
            enable_running_stats(model)
            loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
            loss.backward()
            optimizer.first_step()

            disable_running_stats(model)
            loss_adv = F.cross_entropy(model(x), y, label_smoothing=0.1)
            loss_adv.backward()
            optimizer.second_step()
            first += loss.item()
            second += loss_adv.item()
        if epoch % 2 == 0:
            print("epoch %d  loss %.4f  loss at the worst point %.4f  clean test accuracy %.3f"
                  % (epoch, first / len(train), second / len(train), accuracy(model, x_test, y_test)))


if __name__ == "__main__":
    main()
