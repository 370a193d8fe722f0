"""Diagnose pump vibration with momentum SGD whose rate follows a warm-up and cosine plan.

TRUTH: the rate is changed by making a new SGD before every step, so the momentum buffers start empty each time and momentum never acts (the printed buffer norm equals the gradient norm, and the loss falls far more slowly); set lr in the param_groups of the one optimizer.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Plan:
    def __init__(self, peak, warmup, total):
        self.peak, self.warmup, self.total = peak, warmup, total

    def __call__(self, step):
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        progress = (step - self.warmup) / (self.total - self.warmup)
        return 0.5 * self.peak * (1 + math.cos(math.pi * progress))


class Trainer:
    def __init__(self, model, plan, momentum=0.95):
        self.model, self.plan, self.momentum = model, plan, momentum
        self.optimizer = torch.optim.SGD(model.parameters(), lr=plan(0), momentum=momentum)

    def set_rate(self, step):
        rate = self.plan(step)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate, momentum=self.momentum)  # CULPRIT

    def step(self, step, x, y):
        self.set_rate(step)
        loss = F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def norms(self):
        buffers = [s["momentum_buffer"] for s in self.optimizer.state.values()]
        grads = [p.grad for p in self.model.parameters()]
        return [torch.cat([t.flatten() for t in ts]).norm().item() for ts in (buffers, grads)]


def spectra(n, gen, faults):
    fault = torch.randint(0, len(faults), (n,), generator=gen)
    return faults[fault] + 0.6 * torch.randn(n, faults.shape[1], generator=gen), fault


def main(steps=200):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    faults = torch.rand(6, 30, generator=gen)
    model = nn.Sequential(nn.Linear(30, 48), nn.Tanh(), nn.Linear(48, 6))
    trainer = Trainer(model, Plan(0.02, 20, steps))
    for step in range(steps):
        loss = trainer.step(step, *spectra(128, gen, faults))
        if step % 40 == 0 or step == steps - 1:
            buffer, grad = trainer.norms()
            print(f"step {step:3d}  loss {loss:.3f}  momentum norm {buffer:.3f}  gradient norm {grad:.3f}")


if __name__ == "__main__":
    main()
