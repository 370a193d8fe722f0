"""Reptile meta-learning on random piecewise waves.

TRUTH: correct: Reptile needs no gradient through the inner loop: a deep copy of the model is trained with plain SGD and thrown
away, and the difference of the weights is written by hand into .grad of the meta model, whose own loss is never
backpropagated. The meta optimizer therefore steps on model.parameters() that no graph touches; the error after adaptation falls.
"""
import copy

import numpy as np
import torch
import torch.nn as nn

META_ITERS = 120
META_BATCH = 3
INNER_STEPS = 6
INNER_LR = 0.02
SHOTS = 10


class WaveTask:
    def __init__(self, rng):
        self.amp = rng.uniform(0.5, 2.5)
        self.phase = rng.uniform(0, np.pi)
        self.kind = rng.choice(["sin", "triangle"])

    def __call__(self, x):
        arg = x + self.phase
        if self.kind == "sin":
            return self.amp * np.sin(arg)
        return self.amp * (2 / np.pi) * np.arcsin(np.sin(arg))

    def points(self, rng, n):
        x = rng.uniform(-4, 4, (n, 1)).astype(np.float32)
        y = self(x).astype(np.float32)
        return torch.from_numpy(x), torch.from_numpy(y)


class WaveNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.register_buffer("freq", torch.tensor([0.5, 1.0, 1.5, 2.0]))
        self.layers = nn.Sequential(nn.Linear(9, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                                    nn.Linear(width, 1))

    def forward(self, x):
        a = x * self.freq
        return self.layers(torch.cat([x / 4, a.sin(), a.cos()], dim=1))


def adapt(model, x, y, steps, lr, batch=None, rng=None):
    fast = copy.deepcopy(model)
    opt = torch.optim.SGD(fast.parameters(), lr=lr)
    for _ in range(steps):
        if batch is not None:
            i = torch.from_numpy(rng.permutation(len(x))[:batch])
            xb, yb = x[i], y[i]
        else:
            xb, yb = x, y
        loss = ((fast(xb) - yb) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return fast


class Reptile:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.0, 0.999))

    def step(self, adapted):
        self.opt.zero_grad()
        for k, p in enumerate(self.model.parameters()):
            others = torch.stack([list(m.parameters())[k].data for m in adapted])
            p.grad = p.data - others.mean(dim=0)
        self.opt.step()

    def anneal(self, frac, lr0):
        for group in self.opt.param_groups:
            group["lr"] = lr0 * (1 - frac) + 1e-5


def evaluate(model, seed=99, tasks=15):
    rng = np.random.RandomState(seed)
    before, after = [], []
    for _ in range(tasks):
        task = WaveTask(rng)
        x, y = task.points(rng, SHOTS)
        xq, yq = task.points(rng, 100)
        fast = adapt(model, x, y, steps=16, lr=INNER_LR)
        with torch.no_grad():
            before.append(((model(xq) - yq) ** 2).mean().item())
            after.append(((fast(xq) - yq) ** 2).mean().item())
    return np.mean(before), np.mean(after)


def main():
    torch.manual_seed(2)
    rng = np.random.RandomState(2)
    model = WaveNet()
    meta = Reptile(model, lr=3e-3)
    print("start  before adaptation %.3f  after %.3f" % evaluate(model))
    for it in range(1, META_ITERS + 1):
        adapted = []
        for _ in range(META_BATCH):
            x, y = WaveTask(rng).points(rng, 2 * SHOTS)
            adapted.append(adapt(model, x, y, INNER_STEPS, INNER_LR, batch=SHOTS, rng=rng))
        meta.step(adapted)
        meta.anneal(it / META_ITERS, 3e-3)
        if it % 40 == 0:
            print("iter %d  before adaptation %.3f  after %.3f" % ((it,) + evaluate(model)))


if __name__ == "__main__":
    main()
