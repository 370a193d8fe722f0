"""Predicts the cooling of kettles from a few readings, trained with a hand-written Lookahead around a hand-written AdamW.

TRUTH: Right as it stands. The inner optimizer keeps its own step count and moments per parameter, decays weights decoupled from the
gradient and skips parameters without gradient; the outer one copies slow weights every k steps into the live parameters in
place under no_grad and leaves the inner moments alone, as in the paper. Gradients are accumulated over two half batches (each loss
divided by 2) with one zero_grad before and one clip after. Evaluation uses the slow weights and puts the fast ones back.
"""
import argparse
import contextlib

import torch
import torch.nn as nn


class PlainAdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                s = self.state[p]
                if not s:
                    s.update(step=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                s["step"] += 1
                p.mul_(1 - group["lr"] * group["weight_decay"])
                s["m"].lerp_(p.grad, 1 - b1)
                s["v"].lerp_(p.grad.square(), 1 - b2)
                m = s["m"] / (1 - b1 ** s["step"])
                v = s["v"] / (1 - b2 ** s["step"])
                p.sub_(group["lr"] * m / (v.sqrt() + group["eps"]))


class Lookahead:
    def __init__(self, inner, k=5, alpha=0.5):
        self.inner, self.k, self.alpha, self.count = inner, k, alpha, 0
        self.slow = {p: p.detach().clone() for grp in inner.param_groups for p in grp["params"]}

    def zero_grad(self):
        self.inner.zero_grad(set_to_none=True)

    @torch.no_grad()
    def step(self):
        self.inner.step()
        self.count += 1
        if self.count % self.k == 0:
            for p, slow in self.slow.items():
                slow.lerp_(p, self.alpha)
                p.copy_(slow)

    @contextlib.contextmanager
    def slow_weights(self):
        fast = {p: p.detach().clone() for p in self.slow}
        with torch.no_grad():
            for p, slow in self.slow.items():
                p.copy_(slow)
        yield
        with torch.no_grad():
            for p, saved in fast.items():
                p.copy_(saved)


class Cooling(nn.Module):
    """six early readings and a time -> temperature at that time"""

    def __init__(self, width=48):
        super().__init__()
        self.norm = nn.LayerNorm(7)
        self.net = nn.Sequential(nn.Linear(7, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 2))

    def forward(self, early, t):
        level, rate = self.net(self.norm(torch.cat([early, t[:, None]], 1))).unbind(1)
        return early[:, -1] * torch.exp(-torch.nn.functional.softplus(rate) * t) + level * t


def kettles(n, g):
    hot = 0.8 + 0.2 * torch.rand(n, 1, generator=g)
    room = 0.15 + 0.1 * torch.rand(n, 1, generator=g)
    rate = 0.5 + 1.5 * torch.rand(n, 1, generator=g)
    times = torch.linspace(0, 0.5, 6)
    early = room + (hot - room) * torch.exp(-rate * times) + 0.005 * torch.randn(n, 6, generator=g)
    t = 2.5 * torch.rand(n, generator=g)
    target = (room + (hot - room) * torch.exp(-rate * (0.5 + t[:, None])))[:, 0]
    return early, t, target


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=5e-3)
    args = p.parse_args()
    torch.manual_seed(3)
    g = torch.Generator().manual_seed(33)
    data, val = kettles(2048, g), kettles(512, g)
    model = Cooling()
    decay = [w for w in model.parameters() if w.ndim > 1]
    plain = [w for w in model.parameters() if w.ndim <= 1]
    opt = Lookahead(PlainAdamW([dict(params=decay, weight_decay=1e-3), dict(params=plain)], lr=args.lr))
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt.inner, args.epochs)
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for idx in torch.randperm(2048, generator=g).split(args.batch):
            opt.zero_grad()
            for half in idx.chunk(2):
                early, t, target = (d[half] for d in data)
                loss = (model(early, t) - target).square().mean() / 2
                loss.backward()
                total += loss.item() * len(idx)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        sched.step()
        if epoch % 5 == 0:
            with opt.slow_weights(), torch.no_grad():
                rmse = (model(*val[:2]) - val[2]).square().mean().sqrt().item()
            print(f"epoch {epoch:2d}  train mse {total / 2048:.6f}  val rmse {rmse:.4f} (target std {val[2].std():.3f})")


if __name__ == "__main__":
    main()
