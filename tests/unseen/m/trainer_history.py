"""WRONG. The memory of the process grows with every epoch by the same amount although model and data have a fixed size; long runs are killed.
TRUTH: the trainer appends the metric tensors with their autograd graphs to self.history (the physics metrics need grad mode in evaluation), so the activations of every evaluation stay alive; detach them (v.detach() or v.item()) before storing.
THREAD: https://github.com/pnnl/neuromancer/pull/292
"""
import gc
import os

import torch
import torch.nn as nn

torch.manual_seed(0)


def rss_mb():
    with open("/proc/self/statm") as f:
        pages = int(f.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2 ** 20


class PINN(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, tx):
        return self.net(tx)


class Problem:
    """Heat equation u_t = k u_xx with initial and boundary data."""

    def __init__(self, model, k=0.1):
        self.model = model
        self.k = k

    def residual(self, tx):
        tx = tx.detach().requires_grad_(True)
        u = self.model(tx)
        du = torch.autograd.grad(u.sum(), tx, create_graph=True)[0]
        u_t, u_x = du[:, :1], du[:, 1:]
        u_xx = torch.autograd.grad(u_x.sum(), tx, create_graph=True)[0][:, 1:]
        return u_t - self.k * u_xx

    def step(self, data, name):
        pde = self.residual(data["interior"]).pow(2).mean()
        ic = (self.model(data["initial"]) - data["u0"]).pow(2).mean()
        return {f"{name}_pde": pde, f"{name}_ic": ic, f"{name}_loss": pde + 5 * ic}


class Trainer:
    def __init__(self, problem, train, dev, optimizer, epochs, eval_metric="dev_loss"):
        self.problem = problem
        self.train_data, self.dev_data = train, dev
        self.optimizer = optimizer
        self.epochs = epochs
        self.eval_metric = eval_metric
        self.best = float("inf")
        self.history = []

    def train(self):
        for epoch in range(self.epochs):
            self.problem.model.train()
            output = self.problem.step(self.train_data, "train")
            self.optimizer.zero_grad()
            output["train_loss"].backward()
            self.optimizer.step()

            self.problem.model.eval()
            output = {k: v.item() for k, v in output.items()}
            output.update(self.problem.step(self.dev_data, "dev"))
            self.best = min(self.best, output[self.eval_metric].item())
            self.history.append(dict(output))  # CULPRIT
            if epoch % 5 == 4:
                gc.collect()
                print(f"epoch {epoch:2d} train {output['train_loss']:.4f} "
                      f"dev {output[self.eval_metric]:.4f} rss {rss_mb():.0f} MB")
        return self.history


def make_data(n):
    interior = torch.rand(n, 2)
    initial = torch.cat([torch.zeros(n // 4, 1), torch.rand(n // 4, 1)], dim=1)
    u0 = torch.sin(torch.pi * initial[:, 1:])
    return {"interior": interior, "initial": initial, "u0": u0}


def main():
    model = PINN()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    trainer = Trainer(Problem(model), make_data(500), make_data(2000), optimizer, epochs=25)
    start = rss_mb()
    history = trainer.train()
    print(f"best dev {trainer.best:.4f}, epochs stored {len(history)}, "
          f"growth {rss_mb() - start:.0f} MB")


if __name__ == "__main__":
    main()
