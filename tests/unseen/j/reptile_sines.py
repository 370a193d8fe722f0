# kind: state_restored_from_itself
import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(10)


class SineTask:
    def __init__(self):
        self.amplitude = float(torch.empty(()).uniform_(0.5, 2.0))
        self.phase = float(torch.empty(()).uniform_(0.0, 3.14))

    def sample(self, n=20):
        x = torch.empty(n, 1).uniform_(-3, 3)
        return x, self.amplitude * torch.sin(x + self.phase)


def make_net():
    return nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))


def adapt(net, task, steps, lr=0.02):
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    for _ in range(steps):
        x, y = task.sample()
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


class Reptile:
    def __init__(self, net, outer_lr=0.3, inner_steps=8):
        self.net, self.outer_lr, self.inner_steps = net, outer_lr, inner_steps

    def snapshot(self):
        return dict(self.net.state_dict())  # CULPRIT

    def interpolate(self, start, end, amount):
        return {k: start[k] + amount * (end[k] - start[k]) for k in start}

    def step(self, task, amount):
        start = self.snapshot()
        loss = adapt(self.net, task, self.inner_steps)
        end = self.snapshot()
        moved = self.interpolate(start, end, amount)
        inner = max((end[k] - start[k]).abs().max().item() for k in start)
        self.net.load_state_dict(moved)
        return loss, inner

    def evaluate(self, tasks, shots=10, steps=8):
        losses = []
        for task in tasks:
            fast = copy.deepcopy(self.net)
            adapt(fast, task, steps)
            with torch.no_grad():
                x, y = task.sample(100)
                losses.append(F.mse_loss(fast(x), y).item())
        return sum(losses) / len(losses)


def main(iterations=160):
    meta = Reptile(make_net())
    held_out = [SineTask() for _ in range(10)]
    for it in range(1, iterations + 1):
        amount = meta.outer_lr * (1 - (it - 1) / iterations)
        loss, inner = meta.step(SineTask(), amount)
        if it % 40 == 0:
            print(f"iteration {it} inner loss {loss:.3f} inner move {inner:.4f} held out {meta.evaluate(held_out):.3f}")


main()
