"""WRONG. With a boundary that moves in time, x_b = s(t), the PINN raises "you can only change requires_grad flags of leaf variables" when the Neumann term is built; with a fixed boundary the same code worked.
TRUTH: x_b_upper is computed from t_b, which requires grad, so it is no leaf and its flag cannot be set; take it off first: x_b_upper = x_b_upper.detach().requires_grad_(True) (or drop the line, it can be differentiated as it is).
THREAD: https://github.com/erfanhamdi/pinn-torch/issues/1
"""
import torch
import torch.nn as nn
from torch.autograd import grad


def derivative(dy, x, order=1):
    for _ in range(order):
        dy = grad(dy, x, grad_outputs=torch.ones_like(dy), create_graph=True, retain_graph=True)[0]
    return dy


class PINN(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                 nn.Linear(hidden, 1))

    def forward(self, xt):
        return self.seq(xt)


def front(t):
    return 1.0 + 0.5 * (1.0 - torch.exp(-t))


def exact(x, t):
    return torch.exp(-t) * torch.cos(x)


def mse_f(model, x_f, t_f):
    u = model(torch.stack((x_f, t_f), axis=1))[:, 0]
    u_t = derivative(u, t_f, 1)
    u_xx = derivative(u, x_f, 2)
    return (u_t - u_xx).pow(2).mean()


def mse_0(model, x_0):
    t_0 = torch.zeros_like(x_0)
    u = model(torch.stack((x_0, t_0), axis=1))[:, 0]
    return (u - exact(x_0, t_0)).pow(2).mean()


def mse_b(model, t_b):
    # fixed wall: value decays like exp(-t), its slope in time is prescribed
    x_b_lower = torch.zeros_like(t_b)
    u_b_lower = model(torch.stack((x_b_lower, t_b), axis=1))[:, 0]
    u_b_lower_t = derivative(u_b_lower, t_b, 1)
    wall = (u_b_lower_t + torch.exp(-t_b)).pow(2)

    # moving front: heat flux is prescribed
    x_b_upper = front(t_b)
    x_b_upper.requires_grad = True  # CULPRIT
    u_b_upper = model(torch.stack((x_b_upper, t_b), axis=1))[:, 0]
    u_b_upper_x = derivative(u_b_upper, x_b_upper, 1)
    flux = -torch.exp(-t_b) * torch.sin(x_b_upper)
    mse_neumann = (u_b_upper_x - flux).pow(2)
    return (wall + mse_neumann).mean()


def sample_points(n_f, n_0, n_b):
    t_f = torch.rand(n_f)
    x_f = torch.rand(n_f) * front(t_f)
    x_0 = torch.rand(n_0)
    t_b = torch.rand(n_b)
    return x_f.requires_grad_(True), t_f.requires_grad_(True), x_0, t_b.requires_grad_(True)


def evaluate(model):
    t = torch.rand(200)
    x = torch.rand(200) * front(t)
    with torch.no_grad():
        u = model(torch.stack((x, t), axis=1))[:, 0]
        return ((u - exact(x, t)).norm() / exact(x, t).norm()).item()


def train(config):
    model = PINN(config["hidden"])
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config["epochs"])
    x_f, t_f, x_0, t_b = sample_points(config["n_f"], config["n_0"], config["n_b"])
    for epoch in range(config["epochs"]):
        loss_f = mse_f(model, x_f, t_f)
        loss_0 = mse_0(model, x_0)
        loss_b = mse_b(model, t_b)
        loss = loss_f + 5 * loss_0 + loss_b
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if epoch % 30 == 0:
            print(epoch, f"f {loss_f.item():.4f} 0 {loss_0.item():.4f} b {loss_b.item():.4f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    net = train(dict(hidden=24, lr=1e-2, epochs=150, n_f=200, n_0=50, n_b=50))
    print("relative error", round(evaluate(net), 4))
