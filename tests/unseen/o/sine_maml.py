"""Few-shot sine regression with MAML.

A small MLP is meta-trained so that after a few gradient steps on 10 support
points it fits a new sine wave.  The inner loop works on lists of weights so
that the query loss can be differentiated through the adaptation.

TRUTH: The inner update builds the adapted weights from `w.data`, which cuts them off from the meta-parameters, so
meta_loss.backward() fills the grads of the throw-away weights and leaves model.parameters() with grad None: the
post-adaptation error never improves and the meta weights stay at their initial values. Fix: `w - self.inner_lr * g`
without .data / nn.Parameter. Drawn from KanishJebaMathewM/Truxify#13118 (MAML inner-loop `param.data -=` detaches the
graph - the meta-model never trains).
"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--meta-lr", type=float, default=4e-3)
    p.add_argument("--inner-lr", type=float, default=0.02)
    p.add_argument("--inner-steps", type=int, default=3)
    p.add_argument("--tasks", type=int, default=6)
    p.add_argument("--k", type=int, default=10)
    p.add_argument("--iters", type=int, default=120)
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


class SineTasks:
    """y = A sin(x + phi), x in [-5, 5]"""

    def __init__(self, k, seed):
        self.k = k
        self.gen = torch.Generator().manual_seed(seed)

    def _u(self, lo, hi, *shape):
        return lo + (hi - lo) * torch.rand(*shape, generator=self.gen)

    def sample(self):
        amp = self._u(0.5, 3.0, 1)
        phase = self._u(0.0, math.pi, 1)
        xs = self._u(-5.0, 5.0, self.k, 1)
        xq = self._u(-5.0, 5.0, self.k, 1)
        f = lambda x: amp * torch.sin(x + phase)
        return xs, f(xs), xq, f(xq)


class Regressor(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.fc1 = nn.Linear(1, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 1)

    def forward(self, x, weights=None):
        if weights is None:
            weights = list(self.parameters())
        w1, b1, w2, b2, w3, b3 = weights
        h = F.relu(F.linear(x, w1, b1))
        h = F.relu(F.linear(h, w2, b2))
        return F.linear(h, w3, b3)


class MAML:
    def __init__(self, model, inner_lr, inner_steps, meta_lr):
        self.model = model
        self.inner_lr = inner_lr
        self.inner_steps = inner_steps
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=meta_lr)

    def inner_update(self, xs, ys):
        weights = list(self.model.parameters())
        for _ in range(self.inner_steps):
            loss = self.criterion(self.model(xs, weights), ys)
            grads = torch.autograd.grad(loss, weights, create_graph=True)
            weights = [nn.Parameter(w.data - self.inner_lr * g) for w, g in zip(weights, grads)]  # CULPRIT
        return weights

    def meta_train_step(self, tasks):
        meta_loss = 0.0
        for xs, ys, xq, yq in tasks:
            adapted = self.inner_update(xs, ys)
            meta_loss = meta_loss + self.criterion(self.model(xq, adapted), yq)
        meta_loss = meta_loss / len(tasks)
        self.optimizer.zero_grad()
        meta_loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.optimizer.step()
        return meta_loss.item()

    def evaluate(self, tasks):
        total = 0.0
        for xs, ys, xq, yq in tasks:
            adapted = self.inner_update(xs, ys)
            with torch.no_grad():
                total += self.criterion(self.model(xq, adapted), yq).item()
        return total / len(tasks)


def main():
    args = parse()
    torch.manual_seed(args.seed)
    train_tasks = SineTasks(args.k, seed=args.seed)
    test_tasks = [SineTasks(args.k, seed=1000 + i).sample() for i in range(40)]

    learner = MAML(Regressor(), args.inner_lr, args.inner_steps, args.meta_lr)
    print("before   test mse after adaptation %.4f" % learner.evaluate(test_tasks))
    running = 0.0
    for it in range(1, args.iters + 1):
        batch = [train_tasks.sample() for _ in range(args.tasks)]
        running += learner.meta_train_step(batch)
        if it % 40 == 0:
            print("iter %4d  meta loss %.4f" % (it, running / 40))
            running = 0.0
    print("after    test mse after adaptation %.4f" % learner.evaluate(test_tasks))


if __name__ == "__main__":
    main()
