"""WRONG. I project the weights onto the positive orthant after every optimizer step (monotone network). The script dies
with "a leaf Variable that requires grad is being used in an in-place operation" at the projection.
TRUTH: parameters may not be changed in place while autograd records; the projection is no part of the graph and has to
stand under torch.no_grad(): `with torch.no_grad(): layer.weight.clamp_(min=floor)`.
THREAD: https://discuss.pytorch.org/t/leaf-variable-was-used-in-an-inplace-operation/308/2
"""
import torch
import torch.nn as nn

torch.manual_seed(0)


class MonotoneNet(nn.Module):
    """All weights positive and tanh inside: the output rises with every input."""

    def __init__(self, n_in, hidden=(16, 16)):
        super().__init__()
        sizes = (n_in,) + tuple(hidden) + (1,)
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))
        for layer in self.layers:
            nn.init.uniform_(layer.weight, 0.0, 1.0 / layer.in_features ** 0.5)

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.tanh(layer(x))
        return self.layers[-1](x).squeeze(-1)

    def project(self, floor=0.0):
        for layer in self.layers:
            layer.weight.clamp_(min=floor)  # CULPRIT


def make_market(n):
    x = torch.rand(n, 3) * 2 - 1
    y = torch.sigmoid(3 * x[:, 0]) + 0.5 * x[:, 1].clamp(min=0) + 0.2 * x[:, 2]
    return x, y + 0.02 * torch.randn(n)


def violations(model, x, eps=0.1):
    """Share of points where raising an input lowers the prediction."""
    model.eval()
    with torch.no_grad():
        base = model(x)
        bad = 0.0
        for j in range(x.size(1)):
            moved = x.clone()
            moved[:, j] += eps
            bad += (model(moved) < base - 1e-6).float().mean().item()
    model.train()
    return bad / x.size(1)


def smoothness(model, x):
    noise = 0.01 * torch.randn_like(x)
    return ((model(x + noise) - model(x)) / 0.01).pow(2).mean()


class Trainer:
    def __init__(self, model, lr=0.02, lam=1e-3):
        self.model = model
        self.lam = lam
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.9)
        self.criterion = nn.SmoothL1Loss()

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y) + self.lam * smoothness(self.model, x)
        loss.backward()
        self.optimizer.step()
        self.model.project()
        return loss.item()

    def fit(self, x, y, xv, yv, epochs=10, batch_size=64):
        for epoch in range(epochs):
            perm = torch.randperm(len(x))
            losses = [self.step(x[i], y[i]) for i in perm.split(batch_size)]
            self.scheduler.step()
            with torch.no_grad():
                rmse = (self.model(xv) - yv).pow(2).mean().sqrt().item()
            print('epoch %2d train %.4f val rmse %.3f' % (epoch, sum(losses) / len(losses), rmse))


def main():
    x, y = make_market(384)
    xv, yv = make_market(128)
    model = MonotoneNet(3)
    Trainer(model).fit(x, y, xv, yv)
    print('violations: %.3f' % violations(model, xv))


if __name__ == '__main__':
    main()
