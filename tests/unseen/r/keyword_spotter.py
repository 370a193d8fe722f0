"""Shrinks a keyword spotter for a microcontroller by pruning small weights halfway through training.

TRUTH: only the gradients of pruned weights are masked, but Adam's momentum and the weight decay still move them, so the zeros do not stay (count of zeros falls to 0 after pruning); mask the weights after the step.
"""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class PruneConfig:
    share: float = 0.6
    at_step: int = 100
    steps: int = 200
    lr: float = 5e-3


class Pruner:
    def __init__(self, model):
        self.weights = [p for p in model.parameters() if p.dim() == 2]
        self.masks = None

    @torch.no_grad()
    def prune(self, share):
        self.masks = []
        for weight in self.weights:
            limit = weight.abs().flatten().quantile(share)
            self.masks.append((weight.abs() > limit).float())
            weight.mul_(self.masks[-1])

    @torch.no_grad()
    def hold(self):
        if self.masks is None:
            return
        for weight, mask in zip(self.weights, self.masks):
            weight.grad.mul_(mask)  # CULPRIT

    def sparsity(self):
        zeros = sum((w == 0).sum().item() for w in self.weights)
        return zeros / sum(w.numel() for w in self.weights)


def spoken(n, keywords):
    label = torch.randint(0, len(keywords), (n,))
    return keywords[label] + 0.9 * torch.randn(n, keywords.shape[1]), label


def main(cfg):
    torch.manual_seed(33)
    keywords = torch.randn(6, 24)
    model = nn.Sequential(nn.Linear(24, 48), nn.Hardswish(), nn.Linear(48, 6))
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    pruner = Pruner(model)
    for step in range(cfg.steps):
        if step == cfg.at_step:
            pruner.prune(cfg.share)
            print(f"pruned to sparsity {pruner.sparsity():.3f}")
        x, label = spoken(128, keywords)
        loss = nn.functional.cross_entropy(model(x), label)
        opt.zero_grad()
        loss.backward()
        pruner.hold()
        opt.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.4f} sparsity {pruner.sparsity():.3f}")


if __name__ == "__main__":
    main(PruneConfig())
