# kind: gradient_into_a_copy
"""Mean teacher: few labels, many unlabelled points, consistency with an averaged copy."""
import copy

import torch
from torch import nn
import torch.nn.functional as F


def rings(n, noise=0.12):
    label = torch.randint(0, 2, (n,))
    angle = 6.2832 * torch.rand(n)
    radius = 1.0 + label.float() + noise * torch.randn(n)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), label


class AveragedTeacher:
    """Exponential moving average of a student's weights."""

    def __init__(self, student, decay):
        self.net = copy.deepcopy(student)
        self.decay = decay

    @torch.no_grad()
    def update(self, student):
        for ours, theirs in zip(self.net.parameters(), student.parameters()):
            ours.lerp_(theirs, 1 - self.decay)

    def soft_labels(self, x):
        return self.net(x).softmax(-1)  # CULPRIT


def jitter(x, scale=0.08):
    return x + scale * torch.randn_like(x)


def consistency(student, teacher, x):
    target = teacher.soft_labels(jitter(x))
    return (student(jitter(x)).softmax(-1) - target).pow(2).sum(-1).mean()


def train(steps=300, labelled=24):
    student = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
    teacher = AveragedTeacher(student, decay=0.97)
    opt = torch.optim.Adam(student.parameters(), lr=3e-3)
    x_few, y_few = rings(labelled)
    x_many, _ = rings(1000)
    x_test, y_test = rings(1000)
    for step in range(1, steps + 1):
        weight = min(1.0, step / 100)
        unlabelled = x_many[torch.randint(len(x_many), (128,))]
        supervised = F.cross_entropy(student(jitter(x_few)), y_few)
        loss = supervised + weight * consistency(student, teacher, unlabelled)
        opt.zero_grad()
        loss.backward()
        opt.step()
        teacher.update(student)
        if step % 60 == 0:
            with torch.no_grad():
                acc = (teacher.net(x_test).argmax(-1) == y_test).float().mean().item()
            held = sum(p.grad.norm().item() for p in teacher.net.parameters() if p.grad is not None)
            print(f"step {step}: loss {loss.item():.3f} teacher accuracy {acc:.3f} teacher gradients {held:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train()
