"""Multi-task triage model: length of stay, readmission and acuity from a patient's first-hour vitals.

TRUTH: `torch.tensor(total, requires_grad=True)` makes a new leaf of the task losses' numbers, which has nothing
to do with the model; backward() runs without complaint and ends right there. No parameter ever gets a gradient
(Adam skips them all) and nothing is learned. Add the tensors, which keeps the graph.
"""
from collections import defaultdict
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass(frozen=True)
class Task:
    name: str
    out: int
    weight: float
    loss: callable


TASKS = (
    Task("stay", 1, 0.5, lambda p, y: F.smooth_l1_loss(p.squeeze(-1), y)),
    Task("readmit", 1, 1.0, lambda p, y: F.binary_cross_entropy_with_logits(p.squeeze(-1), y)),
    Task("acuity", 4, 1.0, F.cross_entropy),
)


class Vitals(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 11, generator=g)
        hidden = self.x @ torch.randn(11, 3, generator=torch.Generator().manual_seed(0)) / 3
        noise = 0.1 * torch.randn(n, 3, generator=g)
        hidden = hidden + noise
        self.y = {
            "stay": hidden[:, 0].abs() * 2,
            "readmit": (hidden[:, 1] > 0.4).float(),
            "acuity": torch.bucketize(hidden[:, 2].contiguous(), torch.tensor([-0.8, 0.0, 0.8])),
        }

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], {k: v[i] for k, v in self.y.items()}


class TriageNet(nn.Module):
    def __init__(self, tasks, width=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(11, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
        self.heads = nn.ModuleDict({t.name: nn.Linear(width, t.out) for t in tasks})

    def forward(self, x):
        h = self.body(x)
        return {name: head(h) for name, head in self.heads.items()}


class Balance:
    """Weighs the task losses and keeps their running means for the log."""

    def __init__(self, tasks):
        self.tasks = {t.name: t for t in tasks}
        self.seen = defaultdict(list)

    def __call__(self, outputs, targets):
        parts = {k: t.loss(outputs[k], targets[k]) for k, t in self.tasks.items()}
        for k, v in parts.items():
            self.seen[k].append(v.item())
        total = sum(self.tasks[k].weight * v.item() for k, v in parts.items())
        return torch.tensor(total, requires_grad=True)  # CULPRIT

    def flush(self):
        text = "  ".join(f"{k} {sum(v) / len(v):.3f}" for k, v in self.seen.items())
        self.seen.clear()
        return text


@torch.no_grad()
def acuity_accuracy(net, data):
    net.eval()
    hit = net(data.x)["acuity"].argmax(-1) == data.y["acuity"]
    net.train()
    return hit.float().mean().item()


def main():
    torch.manual_seed(7)
    train, held = Vitals(1536, 1), Vitals(512, 2)
    loader = DataLoader(train, batch_size=128, shuffle=True)
    net, balance = TriageNet(TASKS), Balance(TASKS)
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-3)
    for epoch in range(6):
        for x, y in loader:
            opt.zero_grad()
            loss = balance(net(x), y)
            loss.backward()
            opt.step()
        print(f"epoch {epoch}  {balance.flush()}  held-out acuity {acuity_accuracy(net, held):.3f}")


if __name__ == "__main__":
    main()
