"""Domain-adversarial training with a gradient-reversal hook on the features and a ramped reversal strength."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class DANN(nn.Module):
    def __init__(self, d=10):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(d, 48), nn.ReLU(), nn.Linear(48, 16), nn.ReLU())
        self.label = nn.Linear(16, 2)
        self.domain = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x, lam=0.0):
        f = self.feature(x)
        rev = f.view_as(f)
        if rev.requires_grad:
            rev.register_hook(lambda g: -lam * g)
        return self.label(f), self.domain(rev).squeeze(1)


def make(n, shift):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 10)
    x[:, 0] += 3.0 * (y.float() - 0.5)
    x[:, 1] += 3.0 * (y.float() - 0.5)
    x[:, 5:] += shift
    return TensorDataset(x, y)


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    x, y = data.tensors
    acc = (model(x)[0].argmax(1) == y).float().mean().item()
    model.train()
    return acc


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    source, target = make(1000, 0.0), make(1000, 1.5)
    ls = DataLoader(source, batch_size=50, shuffle=True)
    lt = DataLoader(target, batch_size=50, shuffle=True)
    model = DANN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    epochs = 12
    for epoch in range(epochs):
        for i, ((xs, ys), (xt, _)) in enumerate(zip(ls, lt)):
            p = (epoch + i / len(ls)) / epochs
            lam = 2 / (1 + math.exp(-10 * p)) - 1
            logits, dom_s = model(xs, lam)
            _, dom_t = model(xt, lam)
            task = F.cross_entropy(logits, ys)
            dom = F.binary_cross_entropy_with_logits(torch.cat([dom_s, dom_t]),
                                                     torch.cat([torch.ones_like(dom_s), torch.zeros_like(dom_t)]))
            optimizer.zero_grad()
            (task + dom).backward()
            optimizer.step()
        if epoch % 3 == 2:
            print("epoch %d task %.3f domain %.3f acc source %.3f target %.3f" % (
                epoch, task.item(), dom.item(), accuracy(model, source), accuracy(model, target)))


if __name__ == "__main__":
    main()
