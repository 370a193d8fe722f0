"""WRONG. After pruning 70 percent of the weights are zero; after the fine-tuning, in which the gradients are masked in every step, almost no weight is zero any more.
TRUTH: only the gradient is masked; the SGD momentum buffers still hold values from the dense phase and move the pruned weights. Mask the momentum buffers when pruning, or apply the masks to the weights again after optimizer.step().
THREAD: https://github.com/he-y/filter-pruning-geometric-median/issues/47
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, d_in=16, width=64, d_out=5):
        super().__init__()
        self.fc1 = nn.Linear(d_in, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, d_out)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class Pruner:
    """Magnitude pruning, one mask for every weight matrix."""

    def __init__(self, model, optimizer, rate):
        self.model = model
        self.optimizer = optimizer
        self.rate = rate
        self.masks = {}

    def weights(self):
        for name, p in self.model.named_parameters():
            if p.dim() == 2:
                yield name, p

    @torch.no_grad()
    def prune(self):
        for name, p in self.weights():
            k = int(p.numel() * self.rate)
            threshold = p.abs().flatten().kthvalue(k).values
            mask = (p.abs() > threshold).to(p.dtype)
            self.masks[name] = mask
            p.mul_(mask)  # CULPRIT

    @torch.no_grad()
    def mask_grads(self):
        for name, p in self.weights():
            if p.grad is not None:
                p.grad.mul_(self.masks[name])

    @torch.no_grad()
    def sparsity(self):
        zero = sum((p == 0).sum().item() for _, p in self.weights())
        total = sum(p.numel() for _, p in self.weights())
        return zero / total


def make_batches(n=640, batch=64):
    centers = 1.5 * torch.randn(5, 16)
    y = torch.randint(0, 5, (n,))
    x = centers[y] + torch.randn(n, 16)
    return list(zip(x.split(batch), y.split(batch)))


@torch.no_grad()
def accuracy(model, batches):
    hit = sum((model(x).argmax(1) == y).sum().item() for x, y in batches)
    return hit / sum(len(y) for _, y in batches)


def train_epoch(model, optimizer, batches, pruner=None):
    total = 0.0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if pruner is not None:
            pruner.mask_grads()
        optimizer.step()  # CULPRIT
        total += loss.item()
    return total / len(batches)


def main():
    batches = make_batches()
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    pruner = Pruner(model, optimizer, rate=0.7)

    for epoch in range(3):
        loss = train_epoch(model, optimizer, batches)
        print(f"dense {epoch} loss {loss:.4f} acc {accuracy(model, batches):.3f}")

    pruner.prune()
    print(f"pruned: sparsity {pruner.sparsity():.3f} acc {accuracy(model, batches):.3f}")

    for epoch in range(2):
        loss = train_epoch(model, optimizer, batches, pruner)
        print(f"finetune {epoch} loss {loss:.4f} acc {accuracy(model, batches):.3f} "
              f"sparsity {pruner.sparsity():.3f}")


if __name__ == "__main__":
    main()
