"""Differentially private regression: per-sample gradients with torch.func, per-sample clipping, noise, hand update.

TRUTH: correct: There is no backward() and no optimizer. vmap(grad(loss)) gives one gradient per sample, each is
clipped by its own norm over all parameters, the clipped gradients are summed, noise is added, and the parameters are
moved in place under no_grad with a momentum buffer of plain tensors. The parameters' .grad stays None for the whole
run, which is right here. The parameter dict shares storage with the module, so the module evaluates the current
weights. The loss falls to near the noise that the clipping and the added noise allow.
"""
import math

import torch
from torch import nn
from torch.func import functional_call, grad, vmap


class Tabular:
    def __init__(self, n, n_val, seed=0):
        g = torch.Generator().manual_seed(seed)
        x = torch.randn(n + n_val, 6, generator=g)
        y = torch.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] - 0.3 * x[:, 3]
        y = y + 0.1 * torch.randn(n + n_val, generator=g)
        outlier = torch.rand(n + n_val, generator=g) < 0.01
        y = torch.where(outlier & (torch.arange(n + n_val) < n), y + 8.0, y)
        self.x, self.y = x[:n], y[:n]
        self.xv, self.yv = x[n:], y[n:]


class DPTrainer:
    def __init__(self, model, lr, clip, noise, momentum, seed):
        self.model = model
        self.params = {k: p.detach() for k, p in model.named_parameters()}
        self.velocity = {k: torch.zeros_like(p) for k, p in self.params.items()}
        self.lr, self.clip, self.noise, self.momentum = lr, clip, noise, momentum
        self.gen = torch.Generator().manual_seed(seed)
        self.sample_grads = vmap(grad(self.sample_loss, has_aux=True), in_dims=(None, 0, 0))

    def sample_loss(self, params, x, y):
        pred = functional_call(self.model, params, (x.unsqueeze(0),)).squeeze()
        loss = nn.functional.mse_loss(pred, y)
        return loss, loss

    def step(self, x, y):
        grads, losses = self.sample_grads(self.params, x, y)
        sq = sum(g.flatten(1).pow(2).sum(1) for g in grads.values())
        norms = sq.sqrt()
        factor = (self.clip / (norms + 1e-6)).clamp(max=1.0)
        with torch.no_grad():
            for name, p in self.params.items():
                g = torch.einsum("n,n...->...", factor, grads[name])
                g = g + self.noise * self.clip * torch.randn(g.shape, generator=self.gen)
                v = self.velocity[name]
                v.mul_(self.momentum).add_(g / len(x))
                p.sub_(self.lr * v)
        return losses.mean().item(), (norms > self.clip).float().mean().item()


def poisson_batch(n, rate, gen):
    return torch.nonzero(torch.rand(n, generator=gen) < rate).squeeze(1)


def main():
    torch.manual_seed(0)
    data = Tabular(2000, 500)
    model = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
    trainer = DPTrainer(model, lr=0.25, clip=1.0, noise=0.4, momentum=0.8, seed=1)
    gen = torch.Generator().manual_seed(2)
    rate, steps = 0.08, 350
    print(f"samples {len(data.x)}  expected batch {rate * len(data.x):.0f}  "
          f"parameters {sum(p.numel() for p in model.parameters())}")
    for it in range(steps):
        trainer.lr = 0.25 * 0.5 * (1 + math.cos(math.pi * it / steps))
        idx = poisson_batch(len(data.x), rate, gen)
        loss, clipped = trainer.step(data.x[idx], data.y[idx])
        if it % 50 == 0 or it == steps - 1:
            with torch.no_grad():
                val = nn.functional.mse_loss(model(data.xv).squeeze(-1), data.yv).item()
            print(f"step {it:4d}  batch {len(idx):3d}  loss {loss:.4f}  clipped {clipped:.2f}  val {val:.4f}")


if __name__ == "__main__":
    main()
