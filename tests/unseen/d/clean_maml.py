"""MAML on sine curves: the inner step is written by hand on functional parameters with create_graph, the outer loss sums over tasks."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


class Regressor(nn.Module):
    def __init__(self, h=40):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, 1))

    def forward(self, x):
        return self.net(x)


def sample_task():
    amp, phase = 0.5 + 2 * torch.rand(1), 3.1416 * torch.rand(1)

    def draw(n):
        x = torch.rand(n, 1) * 6 - 3
        return x, amp * torch.sin(x + phase)
    return draw


def adapt(model, params, x, y, lr, steps, create_graph):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=create_graph)
        params = {k: p - lr * g for (k, p), g in zip(params.items(), grads)}
    return params


def meta_test(model, tasks=20):
    before = after = 0.0
    for _ in range(tasks):
        draw = sample_task()
        xs, ys = draw(10)
        xq, yq = draw(50)
        params = {k: v.detach().requires_grad_() for k, v in model.named_parameters()}
        fast = adapt(model, params, xs, ys, lr=0.05, steps=5, create_graph=False)
        with torch.no_grad():
            before += F.mse_loss(model(xq), yq).item() / tasks
            after += F.mse_loss(functional_call(model, fast, (xq,)), yq).item() / tasks
    return before, after


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Regressor()
    meta_opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    print("start: before %.3f after %.3f" % meta_test(model))
    for it in range(301):
        meta_opt.zero_grad()
        outer = 0.0
        for _ in range(5):
            draw = sample_task()
            xs, ys = draw(10)
            xq, yq = draw(10)
            fast = adapt(model, dict(model.named_parameters()), xs, ys, lr=0.05, steps=1, create_graph=True)
            outer = outer + F.mse_loss(functional_call(model, fast, (xq,)), yq)
        (outer / 5).backward()
        meta_opt.step()
        if it % 75 == 0:
            print("iter %d outer loss %.3f" % (it, outer.item() / 5))
    print("end: before %.3f after %.3f" % meta_test(model))
