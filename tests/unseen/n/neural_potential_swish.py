"""WRONG. Training the potential on energies alone works, gradcheck of the activation passes, but with the force loss the gradients of the parameters do not agree with finite differences.
TRUTH: the Function's backward uses the intermediate ctx.sig that was computed in forward (without graph); in double backward (force loss) its dependence on x is ignored, so the second derivative is wrong. Recompute sig = torch.sigmoid(x) from the saved input in backward.
THREAD: https://github.com/pytorch/pytorch/issues/58509
"""
import torch
import torch.nn as nn
from torch.autograd import Function

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

params = dict(n_atoms=5, hidden=24, lr=5e-3, steps=150, rho=1.0, cutoff=4.0)


class SwishFn(Function):
    """x * sigmoid(x), keeps the sigmoid so that it need not be computed again."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.sig = torch.sigmoid(x)
        return x * ctx.sig

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        sig = ctx.sig  # CULPRIT
        return grad_output * sig * (1 + x * (1 - sig))


class Swish(nn.Module):
    def forward(self, x):
        return SwishFn.apply(x)


class RadialBasis(nn.Module):
    def __init__(self, n=12, rmax=4.0):
        super().__init__()
        self.register_buffer("mu", torch.linspace(0.5, rmax, n))
        self.gamma = 4.0

    def forward(self, r):
        return torch.exp(-self.gamma * (r.unsqueeze(-1) - self.mu) ** 2)


class PairPotential(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.rbf = RadialBasis()
        self.net = nn.Sequential(nn.Linear(12, hidden), Swish(),
                                 nn.Linear(hidden, hidden), Swish(), nn.Linear(hidden, 1))

    def forward(self, pos):
        i, j = torch.triu_indices(pos.size(1), pos.size(1), offset=1)
        r = (pos[:, i] - pos[:, j]).norm(dim=-1)
        return self.net(self.rbf(r)).squeeze(-1).sum(1)


def reference(pos):
    i, j = torch.triu_indices(pos.size(1), pos.size(1), offset=1)
    r = (pos[:, i] - pos[:, j]).norm(dim=-1)
    return ((1 - torch.exp(-1.2 * (r - 1.5))) ** 2).sum(1)


def forces_of(energy_fn, pos, train):
    pos = pos.detach().requires_grad_(True)
    e = energy_fn(pos)
    f = -torch.autograd.grad(e.sum(), pos, create_graph=train)[0]
    return e, f


BASE = 1.3 * torch.randn(1, params["n_atoms"], 3)


def make_data(n):
    pos = BASE + 0.25 * torch.randn(n, params["n_atoms"], 3)
    e, f = forces_of(reference, pos, train=False)
    return pos, e.detach(), f


def loss_fn(model, pos, e_ref, f_ref):
    e, f = forces_of(model, pos, train=True)
    return ((e - e_ref) ** 2).mean() * 0.01 + params["rho"] * ((f - f_ref) ** 2).mean()


def check_gradient(model, batch):
    w = model.net[0].weight
    g, = torch.autograd.grad(loss_fn(model, *batch), w)
    d = torch.randn_like(w)
    eps, vals = 1e-5, []
    for sign in (1, -1):
        with torch.no_grad():
            w.add_(sign * eps * d)
        vals.append(loss_fn(model, *batch).item())
        with torch.no_grad():
            w.sub_(sign * eps * d)
    return (g * d).sum().item(), (vals[0] - vals[1]) / (2 * eps)


def main():
    model = PairPotential(params["hidden"])
    print("gradcheck:", torch.autograd.gradcheck(SwishFn.apply, (torch.randn(6, requires_grad=True),)))
    train, test = make_data(64), make_data(32)
    opt = torch.optim.Adam(model.parameters(), lr=params["lr"])
    for step in range(params["steps"]):
        loss = loss_fn(model, *train)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(f"step {step:3d} loss {loss.item():.4f}")
    _, f = forces_of(model, test[0], train=False)
    a, b = check_gradient(model, train)
    print(f"force MAE on test {(f - test[2]).abs().mean().item():.4f} "
          f"(mean |f| {test[2].abs().mean().item():.3f})")
    print(f"directional derivative of the loss: autograd {a:.6f}, finite difference {b:.6f}")


if __name__ == "__main__":
    main()
