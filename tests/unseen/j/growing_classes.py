# kind: parameters_in_no_optimizer
"""Class-incremental learning: the head grows when new classes arrive."""
import torch
import torch.nn.functional as F
from torch import nn


class TaskStream:
    """Gaussian blobs; each task brings new classes next to the old ones."""

    def __init__(self, classes_per_task, tasks, dim=10):
        self.k = classes_per_task
        self.means = 2.0 * torch.randn(classes_per_task * tasks, dim)

    def batch(self, task, n):
        labels = torch.randint((task + 1) * self.k, (n,))
        return self.means[labels] + torch.randn(n, self.means.size(1)), labels


class GrowingNet(nn.Module):
    def __init__(self, dim=10, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, hidden), nn.LayerNorm(hidden), nn.ReLU())
        self.hidden = hidden
        self.heads = nn.ModuleList()

    def grow(self, classes):
        head = nn.Linear(self.hidden, classes)
        self.heads.append(head)
        return head

    def forward(self, x):
        h = self.body(x)
        return torch.cat([head(h) for head in self.heads], dim=1)


class Learner:
    def __init__(self, stream, lr=0.01):
        self.stream = stream
        self.net = GrowingNet()
        self.net.grow(stream.k)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=lr)

    def start_task(self, task):
        if task == 0:
            return
        self.net.grow(self.stream.k)  # CULPRIT

    def fit_task(self, task, steps):
        self.start_task(task)
        newest = self.net.heads[-1].weight
        start = newest.detach().clone()
        for _ in range(steps):
            x, y = self.stream.batch(task, 64)
            loss = F.cross_entropy(self.net(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        moved = (newest.detach() - start).norm().item()
        return loss.item(), moved

    @torch.no_grad()
    def accuracy(self, task):
        x, y = self.stream.batch(task, 500)
        return (self.net(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(2)
    learner = Learner(TaskStream(classes_per_task=3, tasks=3))
    for task in range(3):
        loss, moved = learner.fit_task(task, steps=60)
        print(f"task {task}  loss {loss:.4f}  accuracy {learner.accuracy(task):.3f}  new head moved {moved:.3f}")


if __name__ == "__main__":
    main()
