"""RIGHT. Model-agnostic meta-learning on sine waves: inner steps with functional_call and create_graph, a learnt inner learning rate for each layer, the outer gradient summed over tasks; the evaluation adapts without second derivatives.
TRUTH: the fast weights are new tensors built out of place, so the parameters stay leaves; create_graph=True is wanted in training; each task is run backward by itself, scaled by 1/tasks, which sums the gradients; evaluation needs grad for the inner steps, so it is not under no_grad and detaches the fast weights instead; the learning rates are kept positive by exp.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(0)

cfg = dict(tasks=6, shots=8, queries=12, inner_steps=2, inner_lr=0.05, outer_lr=1e-2, rounds=40, eval_tasks=20)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


class MetaLearner(nn.Module):
    def __init__(self, net, inner_lr):
        super().__init__()
        self.net = net
        self.names = [name for name, _ in net.named_parameters()]
        self.log_lr = nn.ParameterList([nn.Parameter(torch.tensor(math.log(inner_lr))) for _ in self.names])

    def loss(self, weights, x, y):
        return F.mse_loss(functional_call(self.net, weights, (x,)), y)

    def adapt(self, x, y, steps, second_order):
        weights = dict(self.net.named_parameters())
        for _ in range(steps):
            grads = torch.autograd.grad(self.loss(weights, x, y), list(weights.values()), create_graph=second_order)
            rates = [r.exp() for r in self.log_lr]
            weights = {n: w - r * g for (n, w), r, g in zip(weights.items(), rates, grads)}
            if not second_order:
                weights = {n: w.detach().requires_grad_(True) for n, w in weights.items()}
        return weights


class WaveTasks:
    def sample(self, n_points):
        amplitude = 0.5 + 1.5 * torch.rand(1)
        phase = math.pi * torch.rand(1)

        def draw(n):
            x = torch.rand(n, 1) * 6 - 3
            return x, amplitude * torch.sin(x + phase)

        return [draw(n) for n in n_points]


def outer_step(learner, optimizer, tasks, cfg):
    optimizer.zero_grad()
    total = 0.0
    for _ in range(cfg["tasks"]):
        (xs, ys), (xq, yq) = tasks.sample((cfg["shots"], cfg["queries"]))
        weights = learner.adapt(xs, ys, cfg["inner_steps"], second_order=True)
        loss = learner.loss(weights, xq, yq) / cfg["tasks"]
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(learner.parameters(), 2.0)
    optimizer.step()
    return total


def evaluate(learner, tasks, cfg):
    before, after = 0.0, 0.0
    for _ in range(cfg["eval_tasks"]):
        (xs, ys), (xq, yq) = tasks.sample((cfg["shots"], 40))
        weights = learner.adapt(xs, ys, cfg["inner_steps"], second_order=False)
        with torch.no_grad():
            before += F.mse_loss(learner.net(xq), yq).item()
            after += learner.loss(weights, xq, yq).item()
    return before / cfg["eval_tasks"], after / cfg["eval_tasks"]


def main():
    learner, tasks = MetaLearner(Net(), cfg["inner_lr"]), WaveTasks()
    optimizer = torch.optim.Adam(learner.parameters(), lr=cfg["outer_lr"])
    print("start     without/with adaptation %.3f / %.3f" % evaluate(learner, tasks, cfg))
    for step in range(cfg["rounds"]):
        loss = outer_step(learner, optimizer, tasks, cfg)
        if step % 20 == 19:
            print(f"round {step + 1:2d}  outer loss {loss:.3f}  without/with adaptation %.3f / %.3f" % evaluate(learner, tasks, cfg))
    rates = ", ".join(f"{r.exp().item():.3f}" for r in learner.log_lr)
    print("learnt inner rates:", rates)


if __name__ == "__main__":
    main()
