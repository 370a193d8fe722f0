"""Predicts price and rating of wines from one code, balances the tasks and reports their pull on the code.

TRUTH: .grad of the retained branch code is what the hook has returned, and the hook scales every gradient to length 1, so the reported pull is always 1 and says nothing of the tasks; measure the gradient in a hook before it is scaled.
"""
from functools import partial

import torch
from torch import nn


class UnitPull:
    """Gives the gradient that flows into the shared code a fixed length for each task."""

    def __init__(self, length=1.0, eps=1e-12):
        self.length, self.eps = length, eps

    def __call__(self, grad):
        return grad * (self.length / (grad.norm() + self.eps))


class CellarNet(nn.Module):
    tasks = ("price", "rating")

    def __init__(self, inputs, width=24):
        super().__init__()
        self.code = nn.Sequential(nn.Linear(inputs, width), nn.ELU())
        self.heads = nn.ModuleDict({task: nn.Linear(width, 1) for task in self.tasks})
        self.balance = UnitPull()
        self.branches = {}

    def forward(self, wine):
        shared = self.code(wine)
        outputs = {}
        for task, head in self.heads.items():
            branch = shared.view_as(shared)
            if branch.requires_grad:
                self.watch(task, branch)
                branch.register_hook(self.balance)
            outputs[task] = head(branch).squeeze(1)
        return outputs

    def watch(self, task, branch):
        branch.retain_grad()  # CULPRIT
        self.branches[task] = branch

    def pull(self, task):
        return self.branches[task].grad.norm().item()  # CULPRIT


def tasting(n, seed):
    g = torch.Generator().manual_seed(seed)
    wine = torch.randn(n, 7, generator=g)
    return wine, {
        "price": 20 * torch.tanh(wine[:, 0] + wine[:, 1]),
        "rating": 0.5 * wine[:, 2] - 0.5 * wine[:, 3].abs(),
    }


def main():
    torch.manual_seed(110)
    wine, targets = tasting(256, seed=111)
    model = CellarNet(7)
    make = partial(torch.optim.Adam, lr=2e-2)
    opt = make(model.parameters())
    for step in range(60):
        outputs = model(wine)
        losses = {task: nn.functional.mse_loss(outputs[task], targets[task]) for task in model.tasks}
        opt.zero_grad()
        sum(losses.values()).backward()
        opt.step()
        if step % 10 == 0 or step == 59:
            line = "  ".join(f"{t} mse {losses[t].item():.3f} pull {model.pull(t):.4f}" for t in model.tasks)
            print(f"step {step:2d}  {line}")


if __name__ == "__main__":
    main()
