# kind: create_graph_backward_cycle
"""Cross validation with an AdaHessian-like optimizer: one fresh model per fold."""
import gc
import math

import torch
from torch import nn
import torch.nn.functional as F


class DiagonalHessian:
    """Hutchinson estimate of the Hessian diagonal and a preconditioned update."""

    def __init__(self, params, lr=0.05, betas=(0.9, 0.99), eps=1e-4):
        self.params = list(params)
        self.lr, self.betas, self.eps = lr, betas, eps
        self.m = [torch.zeros_like(p) for p in self.params]
        self.h = [torch.zeros_like(p) for p in self.params]
        self.t = 0

    def gradients(self, loss):
        loss.backward(create_graph=True)  # CULPRIT
        return [p.grad for p in self.params]

    def minimize(self, loss):
        grads = self.gradients(loss)
        probes = [torch.randint_like(p, 2) * 2 - 1 for p in self.params]
        hvp = torch.autograd.grad(grads, self.params, grad_outputs=probes)
        self.t += 1
        b1, b2 = self.betas
        with torch.no_grad():
            for p, g, z, hz, m, h in zip(self.params, grads, probes, hvp, self.m, self.h):
                m.mul_(b1).add_(g, alpha=1 - b1)
                h.mul_(b2).add_((z * hz).pow(2), alpha=1 - b2)
                m_hat = m / (1 - b1 ** self.t)
                h_hat = (h / (1 - b2 ** self.t)).sqrt()
                p.sub_(self.lr * m_hat / (h_hat + math.sqrt(self.eps)))


def make_model(d):
    return nn.Sequential(nn.Linear(d, 256), nn.Tanh(), nn.Linear(256, 1))


def regression_data(n=240, d=8, seed=0):
    gen = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=gen)
    y = torch.sin(x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3]
    return x, y + 0.05 * torch.randn(n, 1, generator=gen)


def run_fold(x, y, held_out, steps=25):
    keep = torch.ones(len(x), dtype=torch.bool)
    keep[held_out] = False
    model = make_model(x.shape[1])
    opt = DiagonalHessian(model.parameters())
    for _ in range(steps):
        for p in model.parameters():
            p.grad = None
        loss = F.mse_loss(model(x[keep]), y[keep])
        opt.minimize(loss)
    with torch.no_grad():
        return loss.item(), F.mse_loss(model(x[held_out]), y[held_out]).item()


def live_elements():
    gc.collect()
    return sum(o.numel() for o in gc.get_objects() if type(o) is nn.Parameter)


def main():
    torch.manual_seed(0)
    x, y = regression_data()
    for k, held_out in enumerate(torch.randperm(len(x)).chunk(6)):
        train, valid = run_fold(x, y, held_out)
        print(f"fold {k} train {train:.4f} valid {valid:.4f} live parameters {live_elements()}")


if __name__ == "__main__":
    main()
