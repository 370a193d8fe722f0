"""Meta-SGD for few-shot curve fitting: learned per-parameter inner rates, first-order warm-up, then second order.

TRUTH: correct: The inner steps are functional (new tensors from torch.autograd.grad, no in-place change), so the
outer backward reaches both the initial weights and the learned rates. During the warm-up create_graph is off: the
inner gradients are then constants, but the rates still get gradient since they multiply them, and so do the initial
weights; that is first-order MAML, switched to second order later on purpose. The evaluation needs grad mode for its
inner steps although nothing is trained there; its results are detached. Each task's loss is divided by the
meta-batch and sent backward at once, so that the gradients accumulate over the tasks before one step.
"""
import math

import torch
from torch import nn
from torch.func import functional_call
import torch.nn.functional as F


class CurveNet(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.fc1 = nn.Linear(1, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, 1)

    def forward(self, x):
        h = torch.tanh(self.fc1(x))
        return self.fc3(torch.tanh(self.fc2(h)))


class CurveTasks:
    """Damped waves with a task-specific amplitude, phase and decay."""

    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)

    def _u(self, lo, hi):
        return lo + (hi - lo) * torch.rand(1, generator=self.gen)

    def sample(self, shots=10, queries=15):
        amp, phase, decay = self._u(0.5, 2.5), self._u(0, math.pi), self._u(0.0, 0.3)
        x = 6 * torch.rand(shots + queries, 1, generator=self.gen) - 3
        y = amp * torch.exp(-decay * x.abs()) * torch.sin(1.5 * x + phase)
        return x[:shots], y[:shots], x[shots:], y[shots:]


class MetaSGD(nn.Module):
    def __init__(self, net, init_rate=0.08):
        super().__init__()
        self.net = net
        self.log_rate = nn.ParameterDict({
            n.replace(".", "_"): nn.Parameter(torch.full_like(p, math.log(init_rate)))
            for n, p in net.named_parameters()
        })

    def adapt(self, x, y, steps, second_order):
        fast = dict(self.net.named_parameters())
        for _ in range(steps):
            loss = F.mse_loss(functional_call(self.net, fast, (x,)), y)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=second_order)
            fast = {
                n: p - self.log_rate[n.replace(".", "_")].exp() * g
                for (n, p), g in zip(fast.items(), grads)
            }
        return fast

    def query_loss(self, task, steps, second_order):
        xs, ys, xq, yq = task
        fast = self.adapt(xs, ys, steps, second_order)
        return F.mse_loss(functional_call(self.net, fast, (xq,)), yq)


def evaluate(meta, steps, n=8, seed=123):
    tasks = CurveTasks(seed)
    before = after = 0.0
    for _ in range(n):
        task = tasks.sample()
        with torch.no_grad():
            before += F.mse_loss(meta.net(task[2]), task[3]).item() / n
        after += meta.query_loss(task, steps, second_order=False).detach().item() / n
    return before, after


def main():
    torch.manual_seed(0)
    meta = MetaSGD(CurveNet())
    opt = torch.optim.Adam([
        {"params": meta.net.parameters(), "lr": 4e-3},
        {"params": meta.log_rate.parameters(), "lr": 1e-2},
    ])
    tasks = CurveTasks(seed=1)
    iters, warmup, batch, inner = 200, 80, 4, 3
    for it in range(iters):
        second = it >= warmup
        opt.zero_grad()
        total = 0.0
        for _ in range(batch):
            loss = meta.query_loss(tasks.sample(), inner, second) / batch
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(meta.parameters(), 5.0)
        opt.step()
        if it % 40 == 0 or it == iters - 1:
            pre, post = evaluate(meta, inner)
            rate = torch.cat([r.detach().exp().flatten() for r in meta.log_rate.values()])
            print(f"iter {it:4d}  order {2 if second else 1}  query {total:.4f}  test before {pre:.4f}  "
                  f"after {post:.4f}  rate {rate.mean():.4f}")


if __name__ == "__main__":
    main()
