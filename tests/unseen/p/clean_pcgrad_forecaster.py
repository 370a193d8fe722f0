"""Three forecasting tasks on a shared GRU trunk with projected conflicting gradients (PCGrad).

TRUTH: correct: every task's gradient is taken with torch.autograd.grad (retain_graph for all but the last
task; allow_unused because a task does not use the other heads), conflicting pairs are projected with
reference copies of the original gradients, and the merged gradient is written into p.grad by hand in place
of a backward() call. zero_grad is not called because every p.grad is overwritten each step. A head's None
gradient for another task counts as zero.
"""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Forecaster(nn.Module):
    tasks = ("level", "up", "vol")

    def __init__(self, hidden=32):
        super().__init__()
        self.trunk = nn.GRU(1, hidden, batch_first=True)
        self.heads = nn.ModuleDict({
            "level": nn.Linear(hidden, 1),
            "up": nn.Linear(hidden, 1),
            "vol": nn.Sequential(nn.Linear(hidden, 16), nn.Tanh(), nn.Linear(16, 1)),
        })

    def forward(self, x):
        _, h = self.trunk(x.unsqueeze(-1))
        return {k: head(h[-1]).squeeze(-1) for k, head in self.heads.items()}


def make_batch(n, gen):
    t = torch.arange(40).float()
    freq = 0.05 + 0.15 * torch.rand(n, 1, generator=gen)
    sigma = 0.05 + 0.4 * torch.rand(n, 1, generator=gen)
    drift = 0.04 * (torch.rand(n, 1, generator=gen) - 0.5)
    x = torch.sin(6.2832 * freq * t + 6.28 * torch.rand(n, 1, generator=gen)) + drift * t
    noisy = x + sigma * torch.randn(n, 40, generator=gen)
    past, future = noisy[:, :32], x[:, 32:]
    targets = {"level": future.mean(1), "up": (future[:, -1] > x[:, 31]).float(), "vol": sigma.squeeze(1).log()}
    return past, targets


def task_losses(out, targets):
    return [F.smooth_l1_loss(out["level"], targets["level"]),
            F.binary_cross_entropy_with_logits(out["up"], targets["up"]),
            0.5 * F.mse_loss(out["vol"], targets["vol"])]


class PCGrad:
    def __init__(self, optimizer, params, seed=0):
        self.optimizer = optimizer
        self.params = list(params)
        self.rng = random.Random(seed)
        self.conflicts = 0

    def flatten(self, grads):
        return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in zip(grads, self.params)])

    def project(self, flat):
        merged = [g.clone() for g in flat]
        for i, g in enumerate(merged):
            others = [j for j in range(len(flat)) if j != i]
            self.rng.shuffle(others)
            for j in others:
                dot = torch.dot(g, flat[j])
                if dot < 0:
                    self.conflicts += 1
                    g.sub_(flat[j] * (dot / flat[j].pow(2).sum().clamp_min(1e-12)))
        return torch.stack(merged).sum(0)

    def step(self, losses):
        flat = []
        for k, loss in enumerate(losses):
            grads = torch.autograd.grad(loss, self.params, retain_graph=k < len(losses) - 1, allow_unused=True)
            flat.append(self.flatten(grads))
        merged, offset = self.project(flat), 0
        for p in self.params:
            p.grad = merged[offset:offset + p.numel()].view_as(p).clone()
            offset += p.numel()
        nn.utils.clip_grad_norm_(self.params, 2.0)
        self.optimizer.step()


def main():
    torch.manual_seed(31)
    gen = torch.Generator().manual_seed(9)
    model = Forecaster()
    pc = PCGrad(torch.optim.Adam(model.parameters(), lr=4e-3), model.parameters())
    val_x, val_t = make_batch(500, gen)
    for step in range(1, 151):
        x, targets = make_batch(64, gen)
        losses = task_losses(model(x), targets)
        pc.step(losses)
        if step % 30 == 0:
            with torch.no_grad():
                val = task_losses(model(val_x), val_t)
            print(f"step {step:3d} " + " ".join(f"{n} {l.item():.4f}/{v.item():.4f}"
                  for n, l, v in zip(model.tasks, losses, val)) + f" conflicts {pc.conflicts}")
            pc.conflicts = 0


if __name__ == "__main__":
    main()
