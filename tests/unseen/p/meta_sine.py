"""First-order MAML on sine regression with a stock nn.Module and inner SGD.

TRUTH: Before a task is adapted, the meta weights are remembered with net.state_dict(), which returns references
to the live parameter tensors, not copies. The inner SGD steps change those tensors in place, so
load_state_dict(initial) after the task copies the adapted weights onto themselves and nothing is restored: every
task starts where the one before ended, the query gradients are added at ever-moving weights, and the meta update
is applied to the weights adapted to the last task. No exception; the net simply drifts and the loss after
adaptation is no better than that of a network trained on the mix. Fix: initial = copy.deepcopy(net.state_dict()).
Drawn from dragen1860/MAML-Pytorch#9.
"""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SineNet(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.body(x)


class SineTasks:
    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)

    def sample(self, shots, queries):
        amp = 0.5 + 3.0 * torch.rand(1, generator=self.gen)
        phase = math.pi * torch.rand(1, generator=self.gen)
        x = 10 * torch.rand(shots + queries, 1, generator=self.gen) - 5
        y = amp * torch.sin(x + phase)
        return (x[:shots], y[:shots]), (x[shots:], y[shots:])


class Learner:
    def __init__(self, net, inner_lr=0.02, inner_steps=5, meta_lr=2e-3):
        self.net = net
        self.inner_lr = inner_lr
        self.inner_steps = inner_steps
        self.meta_opt = torch.optim.Adam(net.parameters(), lr=meta_lr)

    def adapt(self, net, support):
        inner = torch.optim.SGD(net.parameters(), lr=self.inner_lr)
        x, y = support
        for _ in range(self.inner_steps):
            loss = F.mse_loss(net(x), y)
            inner.zero_grad()
            loss.backward()
            inner.step()
        return loss.item()

    def meta_step(self, tasks):
        net = self.net
        initial = net.state_dict()  # CULPRIT
        meta_grads = [torch.zeros_like(p) for p in net.parameters()]
        total = 0.0
        for support, query in tasks:
            self.adapt(net, support)
            q_loss = F.mse_loss(net(query[0]), query[1])
            grads = torch.autograd.grad(q_loss, list(net.parameters()))
            for acc, g in zip(meta_grads, grads):
                acc.add_(g, alpha=1.0 / len(tasks))
            total += q_loss.item()
            net.load_state_dict(initial)
        for p, g in zip(net.parameters(), meta_grads):
            p.grad = g
        self.meta_opt.step()
        return total / len(tasks)

    def evaluate(self, sampler, n=25):
        before = after = 0.0
        for _ in range(n):
            support, query = sampler.sample(10, 20)
            clone = copy.deepcopy(self.net)
            before += F.mse_loss(clone(query[0]), query[1]).item() / n
            self.adapt(clone, support)
            after += F.mse_loss(clone(query[0]), query[1]).item() / n
        return before, after


def main():
    torch.manual_seed(0)
    learner = Learner(SineNet())
    train = SineTasks(seed=1)
    for it in range(301):
        batch = [train.sample(10, 10) for _ in range(4)]
        loss = learner.meta_step(batch)
        if it % 60 == 0:
            pre, post = learner.evaluate(SineTasks(seed=99))
            print(f"iter {it:4d}  query loss {loss:.4f}  test before {pre:.4f}  after {post:.4f}")


if __name__ == "__main__":
    main()
