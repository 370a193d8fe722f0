"""Neural ODE with the adjoint method: an encoder reads a context window and sets the coefficients of the dynamics.

TRUTH: The adjoint Function hands out gradients only to the tensors it is given, y0 and tuple(func.parameters()).
The coefficients func.coeff are not parameters of func: they are the encoder's output, set on it as an attribute
before each solve. In the backward pass they are a constant, so the encoder gets no gradient at all (its .grad stays
None, its weights never move) although the forward values depend on it. The shared dynamics net does learn and the
loss falls a bit, to the level of one compromise for all the trajectories. Fix: pass the coefficients along,
params = tuple(func.parameters()) + (func.coeff,). Drawn from rtqichen/torchdiffeq#104.
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
    for a, b in zip(ts[:-1], ts[1:]):
        ys.append(rk4_step(func, a, ys[-1], b - a))
    return torch.stack(ys)


class OdeintAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, ts, y0, *params):
        ctx.func = func
        with torch.no_grad():
            ys = odeint(func, y0, ts)
        ctx.save_for_backward(ts, ys, *params)
        return ys

    @staticmethod
    def backward(ctx, grad_ys):
        func = ctx.func
        ts, ys, *params = ctx.saved_tensors
        params = tuple(params)

        def augmented(t, state):
            y, adj = state[0], state[1]
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                dy = func(t, y)
                grads = torch.autograd.grad(dy, (y,) + params, -adj, allow_unused=True)
            vjp = [torch.zeros_like(s) if g is None else g for s, g in zip((y,) + params, grads)]
            return [dy.detach(), *vjp]

        def add(state, deriv, h):
            return [s + h * d for s, d in zip(state, deriv)]

        adj = grad_ys[-1]
        gp = [torch.zeros_like(p) for p in params]
        for i in range(len(ts) - 1, 0, -1):
            h = ts[i - 1] - ts[i]
            s = [ys[i], adj, *gp]
            k1 = augmented(ts[i], s)
            k2 = augmented(ts[i] + h / 2, add(s, k1, h / 2))
            k3 = augmented(ts[i] + h / 2, add(s, k2, h / 2))
            k4 = augmented(ts[i] + h, add(s, k3, h))
            s = [v + h / 6 * (a + 2 * b + 2 * c + d) for v, a, b, c, d in zip(s, k1, k2, k3, k4)]
            adj = s[1] + grad_ys[i - 1]
            gp = s[2:]
        return (None, None, adj, *gp)


def odeint_adjoint(func, y0, ts):
    params = tuple(func.parameters())  # CULPRIT
    return OdeintAdjoint.apply(func, ts, y0, *params)


class Dynamics(nn.Module):
    """Linear oscillator with per-trajectory coefficients plus a small learned correction."""

    def __init__(self):
        super().__init__()
        self.correction = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        self.coeff = None

    def forward(self, t, y):
        x, v = y[:, :1], y[:, 1:]
        k, c = self.coeff[:, :1], self.coeff[:, 1:]
        lin = torch.cat([v, -k * x - c * v], dim=1)
        return lin + 0.1 * self.correction(y)


class Identifier(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2 * window, 64), nn.ReLU(), nn.Linear(64, 2))
        self.func = Dynamics()

    def forward(self, context, ts):
        self.func.coeff = nn.functional.softplus(self.encoder(context.flatten(1)))
        return odeint_adjoint(self.func, context[:, -1], ts)


def simulate(n, window, horizon, dt):
    k = 0.5 + 3.5 * torch.rand(n, 1)
    c = 0.4 * torch.rand(n, 1)

    def true(t, y):
        return torch.cat([y[:, 1:], -k * y[:, :1] - c * y[:, 1:]], dim=1)

    y0 = torch.randn(n, 2)
    ys = odeint(true, y0, dt * torch.arange(window + horizon, dtype=torch.float32)).transpose(0, 1)
    return ys[:, :window], ys[:, window - 1:]


def main():
    torch.manual_seed(2)
    window, horizon, dt = 8, 8, 0.2
    ctx, fut = simulate(512, window, horizon, dt)
    vctx, vfut = simulate(128, window, horizon, dt)
    ts = dt * torch.arange(horizon + 1, dtype=torch.float32)
    model = Identifier(window)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for it in range(101):
        idx = torch.randint(0, len(ctx), (128,))
        pred = model(ctx[idx], ts).transpose(0, 1)
        loss = (pred - fut[idx]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 20 == 0:
            with torch.no_grad():
                v = (model(vctx, ts).transpose(0, 1) - vfut).pow(2).mean()
            print(f"iter {it:4d}  train {loss.item():.4f}  val {v.item():.4f}")


if __name__ == "__main__":
    main()
