# kind: data_bypasses_version
"""BinaryConnect-style training: forward and backward with signs, update the real weights."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(3)


class BinarizeHelper:
    """Swaps the weights of the linear layers for their scaled signs and back."""

    def __init__(self, model):
        self.targets = [m.weight for m in model.modules() if isinstance(m, nn.Linear)]
        self.saved = [w.detach().clone() for w in self.targets]

    def binarize(self):
        for store, w in zip(self.saved, self.targets):
            store.copy_(w.detach())
            w.data.copy_(w.data.sign() * w.data.abs().mean())

    def restore(self):
        for store, w in zip(self.saved, self.targets):
            w.data.copy_(store)

    def clip(self):
        for w in self.targets:
            w.data.clamp_(-1.0, 1.0)


class Classifier(nn.Module):
    def __init__(self, d_in, d_hidden, n_classes):
        super().__init__()
        self.inp = nn.Linear(d_in, d_hidden)
        self.mid = nn.Linear(d_hidden, d_hidden)
        self.out = nn.Linear(d_hidden, n_classes)

    def forward(self, x):
        x = torch.tanh(self.inp(x))
        x = torch.tanh(self.mid(x))
        return self.out(x)


def blobs(n, classes=5, dim=20):
    centers = torch.randn(classes, dim) * 1.2
    y = torch.randint(0, classes, (n,))
    return centers[y] + torch.randn(n, dim), y


def accuracy(model, helper, x, y):
    helper.binarize()
    model.eval()
    with torch.no_grad():
        acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    helper.restore()
    return acc


def train_step(model, helper, opt, x, y):
    helper.binarize()
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    helper.restore()  # CULPRIT
    loss.backward()
    opt.step()
    helper.clip()
    return loss.item()


x_all, y_all = blobs(1200)
x_train, y_train, x_test, y_test = x_all[:1000], y_all[:1000], x_all[1000:], y_all[1000:]
net = Classifier(20, 48, 5)
helper = BinarizeHelper(net)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(6):
    perm = torch.randperm(len(x_train))
    total = 0.0
    for idx in perm.split(50):
        total += train_step(net, helper, optimizer, x_train[idx], y_train[idx]) * len(idx)
    print(f"epoch {epoch} loss {total / len(x_train):.4f} "
          f"grad {net.inp.weight.grad.norm():.4f} test acc {accuracy(net, helper, x_test, y_test):.3f}")
