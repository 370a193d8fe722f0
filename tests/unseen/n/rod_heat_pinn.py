"""WRONG. The PINN for the 1D heat equation trains, the residual goes down, but the temperature it predicts is not the solution: the relative error against the exact decay stays at 5 % however long it trains.
TRUTH: grads has both columns (dp/dx and dp/dt) and is differentiated as a whole with a vector of ones, so grads1[:, 0] is p_xx + p_tx and not p_xx. Differentiate only the x column: torch.autograd.grad(grads[:, 0:1], X, ...).
THREAD: https://discuss.pytorch.org/t/2nd-order-differential-for-pinn-model/117834
"""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)

config = {
    "alpha": 0.1,
    "hidden": 24,
    "n_points": 256,
    "lr": 8e-3,
    "epochs": 300,
}


class MLP(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, X):
        x, t = X[:, 0:1], X[:, 1:2]
        # initial and boundary conditions are built in
        return torch.sin(math.pi * x) + t * x * (1 - x) * self.net(X)


def exact(X, alpha):
    x, t = X[:, 0:1], X[:, 1:2]
    return torch.exp(-alpha * math.pi ** 2 * t) * torch.sin(math.pi * x)


def sample_collocation(n):
    X = torch.rand(n, 2)
    X.requires_grad = True
    return X


def pde_residual(mlp, X, alpha):
    p = mlp(X)
    grads, = torch.autograd.grad(p, X, grad_outputs=p.data.new(p.shape).fill_(1),
                                 create_graph=True)
    grads1, = torch.autograd.grad(grads, X, grad_outputs=torch.ones_like(grads), create_graph=True)  # CULPRIT
    dpdx, dpdt = grads[:, 0], grads[:, 1]
    dpdxx = grads1[:, 0]
    return dpdt - alpha * dpdxx


def evaluate(mlp, alpha):
    g = torch.linspace(0, 1, 21)
    xx, tt = torch.meshgrid(g, g, indexing="ij")
    X = torch.stack([xx.reshape(-1), tt.reshape(-1)], dim=1)
    with torch.no_grad():
        u = mlp(X)
    ref = exact(X, alpha)
    return ((u - ref).norm() / ref.norm()).item()


def main():
    mlp = MLP(config["hidden"])
    optimizer = torch.optim.Adam(mlp.parameters(), lr=config["lr"])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100, gamma=0.5)
    history = []

    for epoch in range(config["epochs"]):
        X = sample_collocation(config["n_points"])
        optimizer.zero_grad()
        res = pde_residual(mlp, X, config["alpha"])
        loss = (res ** 2).mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        history.append(loss.item())
        if epoch % 60 == 0:
            print(f"epoch {epoch:4d}  residual loss {loss.item():.3e}  "
                  f"rel. error {evaluate(mlp, config['alpha']):.3f}")

    print(f"final residual loss {history[-1]:.3e}, relative error against the exact "
          f"solution {evaluate(mlp, config['alpha']):.4f}")


if __name__ == "__main__":
    main()
