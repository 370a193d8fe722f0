"""Regression with hand-written momentum SGD under no_grad, weight averaging into a copy and batch-norm statistics recomputed for it."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def make(n):
    x = torch.rand(n, 3) * 4 - 2
    y = torch.sin(x[:, :1]) * x[:, 1:2] + 0.3 * x[:, 2:] ** 2
    return x, y + 0.05 * torch.randn_like(y)


def build():
    return nn.Sequential(nn.Linear(3, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 1))


class MomentumSGD:
    def __init__(self, params, lr, mu=0.9):
        self.params, self.lr, self.mu = list(params), lr, mu
        self.buf = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        for p, b in zip(self.params, self.buf):
            b.mul_(self.mu).add_(p.grad)
            p -= self.lr * b
            p.grad = None


@torch.no_grad()
def average_into(avg, model, n):
    for a, p in zip(avg.parameters(), model.parameters()):
        a += (p - a) / (n + 1)


@torch.no_grad()
def refresh_bn(model, x):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.reset_running_stats()
            m.momentum = None
    model.train()
    for xb in x.split(100):
        model(xb)
    model.eval()


@torch.no_grad()
def rmse(model, x, y):
    was = model.training
    model.eval()
    out = F.mse_loss(model(x), y).sqrt().item()
    model.train(was)
    return out


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    x, y = make(1500)
    xt, yt = make(500)
    model = build()
    opt = MomentumSGD(model.parameters(), lr=0.03)
    avg, n_avg = copy.deepcopy(model).requires_grad_(False), 0
    for epoch in range(40):
        for idx in torch.randperm(len(x)).split(50):
            loss = F.mse_loss(model(x[idx]), y[idx])
            loss.backward()
            opt.step()
        if epoch >= 20:
            average_into(avg, model, n_avg)
            n_avg += 1
        if epoch % 10 == 9:
            print("epoch %d train loss %.4f test rmse %.4f" % (epoch, loss.item(), rmse(model, xt, yt)))
    refresh_bn(avg, x)
    print("averaged model test rmse %.4f" % rmse(avg, xt, yt))


if __name__ == "__main__":
    main()
