"""Fits an orbit's correction with an optimizer that keeps a moving average of the gradients and scales it by its norm."""
import math

import torch
from torch import nn
from torch.optim import Optimizer


class BoundedMomentum(Optimizer):
    """Momentum whose step is never longer than `reach` per tensor."""

    def __init__(self, params, lr=0.5, momentum=0.9, reach=0.1, decay=0.0):
        super().__init__(params, dict(lr=lr, momentum=momentum, reach=reach, decay=decay))

    def _trend(self, p, momentum):
        state = self.state[p]
        if "trend" not in state:
            state["trend"] = torch.zeros_like(p)
            state["count"] = 0
        state["count"] += 1
        return state["trend"].mul_(momentum).add_(p.grad)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                push = self._trend(p, group["momentum"])
                length = push.norm().item() * group["lr"]
                factor = min(1.0, group["reach"] / (length + 1e-12))
                push = push * (factor * group["lr"])
                if group["decay"]:
                    p.mul_(1.0 - group["lr"] * group["decay"])
                p.sub_(push)
        return loss


class Correction(nn.Module):
    """A small network of Fourier features of the phase of the orbit."""

    def __init__(self, orders=5, width=16):
        super().__init__()
        self.register_buffer("orders", torch.arange(1.0, orders + 1))
        self.mix = nn.Linear(2 * orders, width)
        self.out = nn.Linear(width, 2)

    def forward(self, phase):
        angle = phase[:, None] * self.orders
        return self.out(torch.tanh(self.mix(torch.cat([angle.sin(), angle.cos()], dim=1))))


def observations(count, rng):
    phase = 2 * math.pi * torch.rand(count, generator=rng)
    radial = 0.5 * torch.cos(2 * phase) - 0.2 * torch.sin(phase)
    along = 0.4 * torch.sin(3 * phase) + 0.1
    clean = torch.stack([radial, along], dim=1)
    return phase, clean + 0.02 * torch.randn(count, 2, generator=rng)


def main():
    torch.manual_seed(19)
    rng = torch.Generator().manual_seed(2)
    model = Correction()
    optimizer = BoundedMomentum(model.parameters(), lr=0.05, momentum=0.9, reach=0.2)
    for step in range(60):
        phase, offset = observations(64, rng)

        def closure():
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(phase), offset)
            loss.backward()
            return loss.item()

        loss = optimizer.step(closure)
        if step % 10 == 9:
            size = sum(s["trend"].norm().item() for s in optimizer.state.values())
            print(f"step {step + 1:3d}  loss {loss:.5f}  kept average {size:.5f}")


if __name__ == "__main__":
    main()
