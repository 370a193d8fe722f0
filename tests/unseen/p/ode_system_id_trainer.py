"""Trainer for system identification: a neural state-space model rolled out over long windows, with dev metrics.

TRUTH: the evaluation runs with gradients on (grad_inference: the objective has a term with the model's
derivative, so that is needed) and its outputs are never backpropagated; the trainer stores the dev metric tensor itself in its
history, so the whole rollout graph behind every stored number stays alive. Symptom: resident memory and
the number of live autograd nodes grow with every evaluation, although only one scalar is kept.
Fix: store `output["dev_loss"].detach()`.
Drawn from pnnl/neuromancer#292.
"""
import argparse
import copy
import gc
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def rss_mb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2 ** 20


class StateSpace(nn.Module):
    """Residual one-step model x[k+1] = x[k] + dt * f(x[k], u[k])."""

    def __init__(self, nx=2, nu=1, hidden=64, dt=0.1):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(nx + nu, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                               nn.Linear(hidden, nx))
        self.dt = dt

    def rollout(self, x0, u):
        xs, x = [], x0
        for k in range(u.shape[1]):
            x = x + self.dt * self.f(torch.cat([x, u[:, k]], dim=-1))
            xs.append(x)
        return torch.stack(xs, dim=1)


class Problem(nn.Module):
    def __init__(self, model, grad_inference=True, q_dx=0.05, q_jac=1e-4):
        super().__init__()
        self.model = model
        self.grad_inference = grad_inference
        self.q_dx, self.q_jac = q_dx, q_jac

    def forward(self, data):
        pred = self.model.rollout(data["x0"], data["u"])
        ref = F.mse_loss(pred, data["x"])
        smooth = F.mse_loss(pred[:, 1:] - pred[:, :-1], data["x"][:, 1:] - data["x"][:, :-1])
        xu = torch.cat([data["x0"], data["u"][:, 0]], dim=-1).requires_grad_(True)
        jac, = torch.autograd.grad(self.model.f(xu).sum(), xu, create_graph=True)
        loss = ref + self.q_dx * smooth + self.q_jac * jac.pow(2).mean()
        return {f"{data['name']}_loss": loss, f"{data['name']}_ref": ref}


def simulate(n, steps, name, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 2, generator=g) * 2 - 1
    u = torch.randn(n, steps, 1, generator=g).cumsum(1) * 0.1
    x0, xs = x.clone(), []
    for k in range(steps):
        pos, vel = x[:, :1], x[:, 1:]
        acc = -pos - 0.4 * vel - 0.5 * pos ** 3 + u[:, k]
        x = torch.cat([pos + 0.1 * vel, vel + 0.1 * acc], dim=1)
        xs.append(x)
    return {"x0": x0, "u": u, "x": torch.stack(xs, 1), "name": name}


class Trainer:
    def __init__(self, problem, train, dev, optimizer, epochs, batch, patience, clip=10.0):
        self.problem, self.train_data, self.dev_data = problem, train, dev
        self.optimizer, self.epochs, self.batch = optimizer, epochs, batch
        self.patience, self.clip = patience, clip
        self.best_devloss, self.best_model, self.badcount = np.inf, None, 0
        self.history = {"train_loss": [], "dev_loss": []}

    def batches(self):
        n = len(self.train_data["x0"])
        for idx in torch.randperm(n).split(self.batch):
            yield {k: (v if k == "name" else v[idx]) for k, v in self.train_data.items()}

    def train(self):
        for epoch in range(1, self.epochs + 1):
            self.problem.train()
            losses = []
            for data in self.batches():
                self.optimizer.zero_grad()
                output = self.problem(data)
                output["train_loss"].backward()
                nn.utils.clip_grad_norm_(self.problem.parameters(), self.clip)
                self.optimizer.step()
                losses.append(output["train_loss"].item())
            self.history["train_loss"].append(np.mean(losses))
            self.problem.eval()
            with torch.set_grad_enabled(self.problem.grad_inference):
                output = self.problem(self.dev_data)
            self.history["dev_loss"].append(output["dev_loss"])  # CULPRIT
            devloss = self.history["dev_loss"][-1].item()
            if devloss < self.best_devloss:
                self.best_devloss, self.badcount = devloss, 0
                self.best_model = copy.deepcopy(self.problem.state_dict())
            else:
                self.badcount += 1
                if self.badcount > self.patience:
                    print("early stopping")
                    break
            if epoch % 5 == 0:
                gc.collect()
                print(f"epoch {epoch:3d} train {np.mean(losses):.5f} dev {devloss:.5f} rss {rss_mb():.0f} MB")
        self.problem.load_state_dict(self.best_model)
        curve = np.array([v.item() for v in self.history["dev_loss"]])
        print(f"best dev {self.best_devloss:.5f}, mean of last five {curve[-5:].mean():.5f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--steps", type=int, default=30)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--patience", type=int, default=15)
    a = ap.parse_args()
    torch.manual_seed(0)
    prob = Problem(StateSpace())
    Trainer(prob, simulate(192, a.steps, "train", 1), simulate(256, a.steps, "dev", 2),
            torch.optim.AdamW(prob.parameters(), lr=a.lr), a.epochs, 32, a.patience).train()
