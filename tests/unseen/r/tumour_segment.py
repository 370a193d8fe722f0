"""Segment round lesions with a small conv net and a loss averaged by a meter that can also sync workers.

TRUTH: the meter returns a detached copy of the loss with requires_grad switched on, a new leaf that nothing led to, so backward ends there; all parameter grads stay None and the loss does not fall; return the loss itself from the meter.
"""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class LossMeter:
    """Keeps a running mean of the loss, averaged over workers when there are several."""

    def __init__(self):
        self.total, self.count = 0.0, 0

    def __call__(self, loss):
        value = loss.detach().clone()
        if dist.is_available() and dist.is_initialized():
            dist.all_reduce(value)
            value /= dist.get_world_size()
        self.total += value.item()
        self.count += 1
        return value.requires_grad_()  # CULPRIT

    def flush(self):
        mean = self.total / max(self.count, 1)
        self.total, self.count = 0.0, 0
        return mean


def dice_bce(logits, mask):
    prob = logits.sigmoid()
    overlap = (prob * mask).sum(dim=(1, 2, 3))
    dice = 1 - (2 * overlap + 1) / (prob.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3)) + 1)
    return dice.mean() + F.binary_cross_entropy_with_logits(logits, mask)


def scans(n, size, gen):
    axis = torch.arange(size).float()
    cx, cy = (torch.rand(2, n, 1, 1, generator=gen) * 0.6 + 0.2) * size
    radius = 2 + 4 * torch.rand(n, 1, 1, generator=gen)
    mask = ((axis[None, :, None] - cx) ** 2 + (axis[None, None] - cy) ** 2 < radius**2).float()[:, None]
    return mask * 0.8 + 0.4 * torch.randn(n, 1, size, size, generator=gen), mask


def main():
    torch.manual_seed(14)
    gen = torch.Generator().manual_seed(14)
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),
        nn.Conv2d(8, 8, 3, padding=2, dilation=2), nn.ReLU(),
        nn.Conv2d(8, 1, 1),
    )
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    meter = LossMeter()
    for step in range(1, 81):
        image, mask = scans(8, 24, gen)
        loss = meter(dice_bce(net(image), mask))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(f"step {step} mean loss {meter.flush():.4f}")


if __name__ == "__main__":
    main()
