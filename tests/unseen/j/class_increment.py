# kind: optimizer_stale_params
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(19)
DIM = 16


class Stream:
    """Tasks arrive one after another, each with two new classes."""

    def __init__(self, tasks=3, per_task=2):
        self.per_task = per_task
        self.centres = 1.2 * torch.randn(tasks * per_task, DIM)

    def batch(self, seen_classes, n=64):
        y = torch.randint(0, seen_classes, (n,))
        return self.centres[y] + torch.randn(n, DIM), y


class GrowingNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(DIM, 32), nn.LayerNorm(32), nn.ReLU())
        self.head = nn.Linear(32, classes)

    @property
    def classes(self):
        return self.head.out_features

    def grow(self, extra):
        old = self.head
        self.head = nn.Linear(old.in_features, old.out_features + extra)
        with torch.no_grad():
            self.head.weight[:old.out_features] = old.weight
            self.head.bias[:old.out_features] = old.bias

    def forward(self, x):
        return self.head(self.trunk(x))


class Learner:
    def __init__(self, stream, lr=0.02):
        self.stream, self.lr = stream, lr
        self.net = GrowingNet(stream.per_task)
        self.reset_optimizer()

    def reset_optimizer(self):
        self.opt = torch.optim.SGD(self.net.parameters(), lr=self.lr, momentum=0.9)

    def next_task(self):
        self.reset_optimizer()
        self.net.grow(self.stream.per_task)  # CULPRIT

    def learn(self, steps=50):
        for _ in range(steps):
            x, y = self.stream.batch(self.net.classes)
            loss = F.cross_entropy(self.net(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()

    @torch.no_grad()
    def accuracy(self):
        self.net.eval()
        x, y = self.stream.batch(self.net.classes, 400)
        acc = (self.net(x).argmax(1) == y).float().mean().item()
        self.net.train()
        return acc


learner = Learner(Stream())
for task in range(3):
    if task:
        learner.next_task()
    before = learner.net.head.weight.detach().clone()
    loss = learner.learn()
    moved = (learner.net.head.weight.detach() - before).norm().item()
    print(f"task {task} classes {learner.net.classes} loss {loss:.3f} acc {learner.accuracy():.3f} head moved {moved:.3f}")
