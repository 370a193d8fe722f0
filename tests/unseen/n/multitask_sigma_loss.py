"""WRONG. With learned task weights only sigma moves; the two task losses stay where they started, however long one trains.
TRUTH: torch.Tensor(l) copies the numbers of the task losses into a new tensor without history, so the task networks get no gradient; use torch.stack(l).
THREAD: https://discuss.pytorch.org/t/how-to-learn-the-weights-between-two-losses/39681
"""
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Trunk(nn.Module):
    def __init__(self, in_dim=5, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(in_dim, width), nn.ReLU())

    def forward(self, x):
        return self.net(x)


class TaskHead(nn.Module):
    def __init__(self, trunk, width=16):
        super().__init__()
        self.trunk = trunk
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.trunk(x)).squeeze(-1)


class MultiTaskLoss(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.tasks = nn.ModuleList(tasks)
        self.sigma = nn.Parameter(torch.ones(len(tasks)))
        self.mse = nn.MSELoss()

    def forward(self, x, targets):
        l = [self.mse(f(x), y) for y, f in zip(targets, self.tasks)]
        self.last = [v.item() for v in l]
        l = 0.5 * torch.Tensor(l) / self.sigma ** 2  # CULPRIT
        l = l.sum() + torch.log(self.sigma.prod())
        return l


def make_data(n=256):
    x = torch.randn(n, 5)
    depth = x[:, 0] - 0.5 * x[:, 1] + 0.05 * torch.randn(n)
    normal = 2.0 * torch.relu(x[:, 2]) + x[:, 3] + 0.3 * torch.randn(n)
    return TensorDataset(x, depth, normal)


class AverageMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.n = 0.0, 0

    def update(self, v):
        self.total += v
        self.n += 1

    @property
    def avg(self):
        return self.total / max(1, self.n)


@torch.no_grad()
def validate(mtl, dataset):
    mtl.eval()
    x, depth, normal = dataset.tensors
    errors = [(f(x) - y).abs().mean().item() for f, y in zip(mtl.tasks, (depth, normal))]
    mtl.train()
    return errors


def main():
    train_set, val_set = make_data(256), make_data(128)
    loader = DataLoader(train_set, batch_size=32, shuffle=True)
    trunk = Trunk()
    f1, f2 = TaskHead(trunk), TaskHead(trunk)
    mtl = MultiTaskLoss([f1, f2])
    optimizer = optim.Adam(mtl.parameters(), lr=1e-2)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.7)
    meters = [AverageMeter(), AverageMeter()]

    for epoch in range(7):
        for m in meters:
            m.reset()
        for x, y1, y2 in loader:
            optimizer.zero_grad()
            total = mtl(x, [y1, y2])
            total.backward()
            optimizer.step()
            for m, v in zip(meters, mtl.last):
                m.update(v)
        scheduler.step()
        val = validate(mtl, val_set)
        sig = ", ".join(f"{s:.3f}" for s in mtl.sigma.tolist())
        print(f"epoch {epoch} train {meters[0].avg:.3f} {meters[1].avg:.3f} "
              f"val mae {val[0]:.3f} {val[1]:.3f} sigma [{sig}]")


if __name__ == "__main__":
    main()
