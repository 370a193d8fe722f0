"""Fits the power curve of a wind turbine with an adaptive optimizer written by hand (a variant of Adam).

TRUTH: debias(beta, step) already returns 1 - beta**step, and AdaptiveMoment.step subtracts it from one again, so the moments are
divided by beta**step instead of by 1 - beta**step. The first divisor shrinks by 0.9 a step, the steps therefore grow
exponentially (faster than the root of the second moment's one can follow) and the loss explodes. Fix: use
debias(...) as it is, without the second "1 -". Drawn from https://github.com/kozistr/pytorch_optimizer/pull/308.
"""
import argparse
import math

import torch
import torch.nn as nn


def debias(beta, step):
    """correction for moving averages that start at zero"""
    return 1.0 - math.pow(beta, step)


class AdaptiveMoment(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            beta1, beta2 = group["betas"]
            correction1 = 1.0 - debias(beta1, group["step"])  # CULPRIT
            correction2 = 1.0 - debias(beta2, group["step"])  # CULPRIT
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p)
                    state["square"] = torch.zeros_like(p)
                if group["weight_decay"]:
                    p.mul_(1.0 - group["lr"] * group["weight_decay"])
                state["mean"].lerp_(p.grad, 1.0 - beta1)
                state["square"].mul_(beta2).addcmul_(p.grad, p.grad, value=1.0 - beta2)
                denom = (state["square"] / correction2).sqrt_().add_(group["eps"])
                p.addcdiv_(state["mean"], denom, value=-group["lr"] / correction1)
        return loss


class PowerCurve(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
                                 nn.Linear(hidden, 1))

    def forward(self, wind, density):
        features = torch.stack([(wind - 9.0) / 5.0, (density - 1.2) / 0.05], 1)
        return self.net(features)[:, 0]


def measure(n, g):
    wind = 20 * torch.rand(n, generator=g) ** 0.8
    density = 1.2 + 0.05 * torch.randn(n, generator=g)
    cubic = 0.5 * density * 0.42 * wind ** 3 / 500
    power = torch.where(wind < 3, torch.zeros_like(wind), cubic.clamp(max=1.0))
    return wind, density, power + 0.02 * torch.randn(n, generator=g)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=8e-3)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    args = parser.parse_args()

    torch.manual_seed(11)
    g = torch.Generator().manual_seed(11)
    wind, density, power = measure(2000, g)
    test = measure(500, g)
    model = PowerCurve()
    optimizer = AdaptiveMoment(model.parameters(), lr=args.lr, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [6, 8], gamma=0.3)
    for epoch in range(args.epochs):
        total = 0.0
        for idx in torch.randperm(len(wind), generator=g).split(args.batch):
            error = model(wind[idx], density[idx]) - power[idx]
            loss = (error ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        scheduler.step()
        if epoch % 2 == 1 or epoch == 0:
            with torch.no_grad():
                rmse = (model(*test[:2]) - test[2]).pow(2).mean().sqrt().item()
            print(f"epoch {epoch + 1:2d}  train mse {total / len(wind):.5g}  test rmse {rmse:.5g} (of rated power)")


if __name__ == "__main__":
    main()
