"""WRONG. Fitting a function together with its slope. With nn.SiLU the script works; with my own Swish Function, whose values
and first derivatives agree with nn.SiLU to the last digit, the slope term trains badly.
TRUTH: the intermediate result sig is saved in forward, for the double backward it is a constant and its dependence on x is
lost. Save x only and recompute `sig = torch.sigmoid(x)` in backward.
THREAD: https://github.com/pytorch/pytorch/issues/58509
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


class SwishFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sig = torch.sigmoid(x)
        ctx.save_for_backward(x, sig)  # CULPRIT
        return x * sig

    @staticmethod
    def backward(ctx, grad_output):
        x, sig = ctx.saved_tensors  # CULPRIT
        return grad_output * (sig + x * sig * (1 - sig))


class Swish(nn.Module):
    def forward(self, x):
        return SwishFunction.apply(x)


class Curve(nn.Module):
    def __init__(self, act, hidden=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, hidden), act(),
            nn.Linear(hidden, hidden), act(),
            nn.Linear(hidden, 1),
        )
        nn.init.normal_(self.net[0].weight, std=3.0)
        nn.init.normal_(self.net[2].weight, std=1.0)

    def forward(self, t):
        return self.net(t)

    def value_and_slope(self, t):
        t = t.clone().requires_grad_(True)
        u = self(t)
        du, = torch.autograd.grad(u.sum(), t, create_graph=True)
        return u, du


def target(t):
    return torch.sin(4 * t), 4 * torch.cos(4 * t)


def sobolev_loss(model, t, weight):
    u, du = model.value_and_slope(t)
    v, dv = target(t)
    value = F.mse_loss(u, v)
    slope = F.mse_loss(du, dv)
    return value + weight * slope, value.item(), slope.item()


def first_order_check():
    x = torch.linspace(-4, 4, 33).requires_grad_(True)
    g1, = torch.autograd.grad(Swish()(x).sum(), x)
    g2, = torch.autograd.grad(F.silu(x).sum(), x)
    print('values agree %s, first derivatives agree %s' % (
        torch.allclose(Swish()(x), F.silu(x)), torch.allclose(g1, g2)))


def flat_grad(model, t):
    model.zero_grad()
    sobolev_loss(model, t, 1.0)[0].backward()
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def run(act, steps=150):
    torch.manual_seed(0)
    model = Curve(act)
    t_val = torch.linspace(-1.5, 1.5, 61).view(-1, 1)
    grad = flat_grad(model, t_val)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    for step in range(steps):
        t = torch.rand(32, 1) * 3 - 1.5
        optimizer.zero_grad()
        loss, _, _ = sobolev_loss(model, t, weight=1.0)
        loss.backward()
        optimizer.step()
        scheduler.step()
    _, value, slope = sobolev_loss(model, t_val, weight=1.0)
    return grad, value, slope


def main():
    first_order_check()
    ref_grad, ref_value, ref_slope = run(nn.SiLU)
    my_grad, my_value, my_slope = run(Swish)
    print('nn.SiLU: value %.5f slope %.5f' % (ref_value, ref_slope))
    print('Swish:   value %.5f slope %.5f' % (my_value, my_slope))
    print('relative difference of the first parameter gradient: %.3f' % (
        (ref_grad - my_grad).norm() / ref_grad.norm()).item())


if __name__ == '__main__':
    main()
