"""Ore grade regression, trained with an own optimizer (Adam with decoupled decay and bias correction).

TRUTH: m_hat is state["m"] itself, and div_ writes the bias correction into the kept average at every step, so the momentum is blown up again and again in the first steps; the loss rises to thousands at first instead of falling and ends far higher; divide out of place.
"""
import torch
from torch import nn
import torch.nn.functional as F
from torch.optim import Optimizer


class QuarryAdam(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), eps=1e-8, decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, decay=decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["t"] = 0
                    state["m"] = torch.zeros_like(p)
                    state["v"] = torch.zeros_like(p)
                state["t"] += 1
                m, v = state["m"], state["v"]
                m.lerp_(p.grad, 1 - b1)
                v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                m_hat = m.div(1 - b1 ** state["t"])
                denom = (v / (1 - b2 ** state["t"])).sqrt_().add_(group["eps"])
                p.mul_(1 - group["lr"] * group["decay"])
                p.addcdiv_(m_hat, denom, value=-group["lr"])


def cores(n):
    x = torch.rand(n, 6) * 2 - 1
    grade = 2 * x[:, 0] * x[:, 1] + torch.sin(3 * x[:, 2]) - 0.5 * x[:, 3]
    return x, grade + 0.05 * torch.randn(n)


def build(width=48):
    return nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


def main():
    torch.manual_seed(30)
    x, y = cores(1000)
    net = build()
    opt = QuarryAdam(net.parameters(), lr=3e-3, decay=1e-3)
    for step in range(250):
        idx = torch.randint(0, len(x), (64,))
        loss = F.mse_loss(net(x[idx]).squeeze(1), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step < 12 and step % 3 == 0 or step % 50 == 0:
            print(step, round(loss.item(), 4))
    with torch.no_grad():
        print("final mse", F.mse_loss(net(x).squeeze(1), y).item(), "variance", y.var().item())


if __name__ == "__main__":
    main()
