"""PINN for u'' = -pi^2 sin(pi x): second derivatives with create_graph through u.sum(), hard boundary condition in the model, Adam first and LBFGS with a closure after."""
import math

import torch
import torch.nn as nn

torch.manual_seed(7)
torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))

    def forward(self, x):
        return x * (1 - x) * self.body(x)


def residual(model, x):
    x = x.clone().requires_grad_(True)
    u = model(x)
    du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    d2u = torch.autograd.grad(du.sum(), x, create_graph=True)[0]
    return d2u + math.pi ** 2 * torch.sin(math.pi * x)


def main():
    model = Net()
    x = torch.linspace(0, 1, 60).view(-1, 1)
    exact = torch.sin(math.pi * x)
    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    for it in range(300):
        adam.zero_grad()
        loss = residual(model, x).pow(2).mean()
        loss.backward()
        adam.step()
    print("adam loss %.5f" % loss.item())
    lbfgs = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=20, line_search_fn="strong_wolfe")

    def closure():
        lbfgs.zero_grad()
        l = residual(model, x).pow(2).mean()
        l.backward()
        return l

    for it in range(10):
        loss = lbfgs.step(closure)
    with torch.no_grad():
        err = (model(x) - exact).abs().max().item()
    print("lbfgs loss %.7f largest error %.6f" % (loss.item(), err))


if __name__ == "__main__":
    main()
