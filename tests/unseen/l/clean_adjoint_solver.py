"""RIGHT. A hand-written adjoint method for an ODE: forward without graph, backward integrates state and adjoint back in time with enable_grad, parameters come in as extra inputs.
TRUTH: forward runs without grad and stores the whole discrete trajectory; backward differentiates each recorded Runge-Kutta step locally under enable_grad at detached states, which is the exact discrete adjoint; a comparison with ordinary backpropagation is printed. None is returned for func and for the times, which need no gradient.
"""
import torch
import torch.nn as nn


def rk4_step(func, t, y, h):
    k1 = func(t, y)
    k2 = func(t + h / 2, y + h / 2 * k1)
    k3 = func(t + h / 2, y + h / 2 * k2)
    k4 = func(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def odeint(func, y0, ts):
    ys = [y0]
    for t0, t1 in zip(ts[:-1], ts[1:]):
        ys.append(rk4_step(func, t0, ys[-1], t1 - t0))
    return torch.stack(ys)


class OdeintAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, ts, y0, *params):
        ys = odeint(func, y0, ts)
        ctx.func = func
        ctx.ts = ts
        ctx.save_for_backward(ys, *params)
        return ys

    @staticmethod
    def backward(ctx, grad_ys):
        ys, *params = ctx.saved_tensors
        ts, func = ctx.ts, ctx.func
        adj = grad_ys[-1].clone()
        adj_params = [torch.zeros_like(p) for p in params]
        for i in range(len(ts) - 2, -1, -1):
            with torch.enable_grad():
                y = ys[i].detach().requires_grad_(True)
                y_next = rk4_step(func, ts[i], y, ts[i + 1] - ts[i])
                grads = torch.autograd.grad(y_next, [y] + params, adj, allow_unused=True)
            adj = grads[0] + grad_ys[i]
            for acc, g in zip(adj_params, grads[1:]):
                if g is not None:
                    acc.add_(g)
        return (None, None, adj, *adj_params)


def odeint_adjoint(func, y0, ts):
    return OdeintAdjoint.apply(func, ts, y0, *func.parameters())


class Dynamics(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        self.damping = nn.Parameter(torch.tensor(0.1))

    def forward(self, t, y):
        return self.net(y) - self.damping * y


class Oscillator(nn.Module):
    def forward(self, t, y):
        return torch.stack((y[..., 1], -y[..., 0] - 0.1 * y[..., 1]), dim=-1)


def check(func, y0, ts):
    grads = []
    for solve in (odeint, odeint_adjoint):
        y = y0.clone().requires_grad_(True)
        loss = solve(func, y, ts).pow(2).mean()
        grads.append(torch.autograd.grad(loss, [y] + list(func.parameters())))
    return max((a - b).abs().max().item() for a, b in zip(*grads))


def main():
    torch.manual_seed(0)
    ts = torch.linspace(0, 2, 9)
    y0 = torch.randn(16, 2)
    with torch.no_grad():
        target = odeint(Oscillator(), y0, ts)
    func = Dynamics()
    print("difference to plain backprop", check(func, y0[:4], ts))
    optimizer = torch.optim.Adam(func.parameters(), lr=2e-2)
    for it in range(60):
        pred = odeint_adjoint(func, y0, ts)
        loss = (pred - target).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 15 == 0:
            print(it, "loss", round(loss.item(), 5))
    print("last loss", round(loss.item(), 5), "damping", round(func.damping.item(), 4))


if __name__ == "__main__":
    main()
