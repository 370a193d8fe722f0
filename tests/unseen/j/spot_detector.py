# kind: dead_relu
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def scenes(n, size=16):
    """Noisy images with one bright spot, the target is a map of its place."""
    x = 0.2 * torch.randn(n, 1, size, size)
    r, c = torch.randint(1, size - 1, (2, n))
    target = torch.zeros(n, size, size)
    k = torch.arange(n)
    target[k, r, c] = 1.0
    for dr in (-1, 0, 1):
        for dc in (-1, 0, 1):
            x[k, 0, r + dr, c + dc] += 1.5 - 0.5 * (abs(dr) + abs(dc))
    return x, target


class DenseHead(nn.Module):
    def __init__(self, channels=16, depth=2, prior=0.01):
        super().__init__()
        tower = []
        for i in range(depth):
            tower += [nn.Conv2d(1 if i == 0 else channels, channels, 3, padding=1), nn.ReLU()]
        self.tower = nn.Sequential(*tower)
        self.score = nn.Conv2d(channels, 1, 3, padding=1)
        self.reset_parameters(prior)

    def reset_parameters(self, prior):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.xavier_uniform_(m.weight)
                nn.init.zeros_(m.bias)
        # rare positives: the scores start at the prior, as in RetinaNet
        bias = -math.log((1 - prior) / prior)
        nn.init.normal_(self.score.weight, std=0.01)
        for conv in (m for m in self.modules() if hasattr(m, "bias")):  # CULPRIT
            nn.init.constant_(conv.bias, bias)

    def forward(self, x):
        return self.score(self.tower(x)).squeeze(1)


def focal(logits, target, alpha=0.75, gamma=2.0):
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    p = torch.sigmoid(logits)
    pt = torch.where(target > 0, p, 1 - p)
    a = torch.where(target > 0, alpha, 1 - alpha)
    return (a * (1 - pt) ** gamma * ce).sum() / target.sum()


def main():
    torch.manual_seed(0)
    net = DenseHead()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(1, 121):
        x, target = scenes(32)
        logits = net(x)
        loss = focal(logits, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            hit = (logits.flatten(1).argmax(1) == target.flatten(1).argmax(1)).float().mean()
            print(f"step {step} loss {loss.item():.3f} found {hit.item():.2f}")


main()
