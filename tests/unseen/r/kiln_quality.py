"""Predict strength and colour of fired bricks with one trunk and two task optimizers.

TRUTH: inside the loop the first task's optimizer steps the shared trunk before the second loss is propagated through the same retained graph, so the second backward raises "modified by an inplace operation"; run all backward passes first and step afterwards.
"""
import torch
from torch import nn


class Trunk(nn.Module):
    def __init__(self, n_in, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_in, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )

    def forward(self, x):
        return self.layers(x)


class MultiTaskTrainer:
    def __init__(self, tasks, n_in=8, width=32):
        self.trunk = Trunk(n_in, width)
        self.heads = nn.ModuleDict({t: nn.Linear(width, 1) for t in tasks})
        main, *rest = tasks
        self.optimizers = {
            main: torch.optim.SGD(
                [*self.trunk.parameters(), *self.heads[main].parameters()], lr=0.05, momentum=0.9
            )
        }
        for task in rest:
            self.optimizers[task] = torch.optim.SGD(self.heads[task].parameters(), lr=0.05)

    def losses(self, x, targets):
        shared = self.trunk(x)
        return {
            t: nn.functional.mse_loss(head(shared).squeeze(-1), targets[t])
            for t, head in self.heads.items()
        }

    def step(self, x, targets):
        losses = self.losses(x, targets)
        for opt in self.optimizers.values():
            opt.zero_grad()
        for task, loss in losses.items():
            loss.backward(retain_graph=True)
            self.optimizers[task].step()  # CULPRIT
        return {t: loss.item() for t, loss in losses.items()}


def main():
    torch.manual_seed(2)
    x = torch.randn(512, 8)
    targets = {
        "strength": torch.sin(x[:, 0]) + 0.5 * x[:, 1],
        "colour": x[:, 2] * 0.3 - torch.tanh(x[:, 3]),
    }
    trainer = MultiTaskTrainer(list(targets))
    for step in range(120):
        idx = torch.randint(0, 512, (64,))
        logs = trainer.step(x[idx], {t: y[idx] for t, y in targets.items()})
        if step % 30 == 0 or step == 119:
            print(step, {t: round(v, 4) for t, v in logs.items()})


if __name__ == "__main__":
    main()
