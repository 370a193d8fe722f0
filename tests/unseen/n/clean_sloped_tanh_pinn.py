"""RIGHT. A hand-written activation (torch.autograd.Function) is used in a network of which second derivatives are taken.
TRUTH: backward works only with the saved input and output and with differentiable operations, so double backward is right (gradgradcheck passes); the temporary values of forward are not kept. ctx.needs_input_grad spares the gradient of the slope where it is fixed; for the non-tensor argument None is returned. The collocation points are leaves that are made anew each step; the boundary loss needs no gradient with respect to x.
"""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)

cfg = {"hidden": 24, "lr": 8e-3, "steps": 250, "n": 48, "omega": math.pi}


class SlopedTanh(torch.autograd.Function):
    """tanh(slope * x) * gain"""

    @staticmethod
    def forward(ctx, x, slope, gain):
        out = torch.tanh(slope * x)
        ctx.save_for_backward(x, slope, out)
        ctx.gain = gain
        return out, gain * out

    @staticmethod
    def backward(ctx, grad_raw, grad_out):
        x, slope, out = ctx.saved_tensors
        g = (grad_raw + ctx.gain * grad_out) * (1 - out * out)
        gx = g * slope
        gs = (g * x).sum() if ctx.needs_input_grad[1] else None
        return gx, gs, None


class Activation(nn.Module):
    def __init__(self, learn_slope):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(1.2), requires_grad=learn_slope)

    def forward(self, x):
        return SlopedTanh.apply(x, self.slope, 1.1)[1]


class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, hidden), Activation(True),
                                    nn.Linear(hidden, hidden), Activation(False),
                                    nn.Linear(hidden, 1))

    def forward(self, x):
        return self.layers(x)


def second_derivative(net, x):
    u = net(x)
    du, = torch.autograd.grad(u.sum(), x, create_graph=True)
    d2u, = torch.autograd.grad(du.sum(), x, create_graph=True)
    return u, d2u


def check_function():
    x = torch.randn(5, dtype=torch.double, requires_grad=True)
    s = torch.tensor(0.8, dtype=torch.double, requires_grad=True)
    fn = lambda a, b: SlopedTanh.apply(a, b, 1.1)
    return torch.autograd.gradcheck(fn, (x, s)) and torch.autograd.gradgradcheck(fn, (x, s))


def main():
    print("first and second derivatives of the function are right:", check_function())
    net = Net(cfg["hidden"])
    opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=cfg["lr"])
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=100, gamma=0.4)
    ends = torch.tensor([[0.0], [1.0]])
    for step in range(cfg["steps"]):
        x = torch.rand(cfg["n"], 1, requires_grad=True)
        _, d2u = second_derivative(net, x)
        # u'' = -w^2 sin(w x), u(0) = u(1) = 0
        source = (cfg["omega"] ** 2 * torch.sin(cfg["omega"] * x)).detach()
        residual = (d2u + source) / cfg["omega"] ** 2
        loss = residual.pow(2).mean() + 10 * net(ends).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 50 == 0:
            print(f"step {step:3d} loss {loss.item():.5f}")
    grid = torch.linspace(0, 1, 101).unsqueeze(1)
    with torch.no_grad():
        err = (net(grid) - torch.sin(cfg["omega"] * grid)).abs().max().item()
    print(f"largest error {err:.4f}")


if __name__ == "__main__":
    main()
