"""Second order MAML with torch.func.functional_call on sine tasks: inner steps on copies with create_graph, first order for the first iterations on purpose, and adaptation at test time that leaves the module unchanged."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(14)
torch.set_num_threads(1)


def sample_task(k=10):
    amp, phase = 1 + torch.rand(1), 6.28 * torch.rand(1)
    x = 6 * torch.rand(2 * k, 1) - 3
    y = amp * torch.sin(x + phase)
    return x[:k], y[:k], x[k:], y[k:]


def adapt(net, params, x, y, lr, steps, second_order):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=second_order)
        params = {k: p - lr * g for (k, p), g in zip(params.items(), grads)}
    return params


def main():
    net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    running = 0.0
    for it in range(1, 401):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(5):
            xs, ys, xq, yq = sample_task()
            fast = adapt(net, dict(net.named_parameters()), xs, ys, 0.1, 1, second_order=it > 50)
            loss = F.mse_loss(functional_call(net, fast, (xq,)), yq) / 5
            loss.backward()
            total += loss.item()
        optimizer.step()
        running += total
        if it % 100 == 0:
            print("iteration %d query loss %.4f" % (it, running / 100))
            running = 0.0
    before = after = 0.0
    for _ in range(50):
        xs, ys, xq, yq = sample_task()
        params = {k: p.detach().requires_grad_() for k, p in net.named_parameters()}
        fast = adapt(net, params, xs, ys, 0.1, 3, second_order=False)
        with torch.no_grad():
            before += F.mse_loss(net(xq), yq).item() / 50
            after += F.mse_loss(functional_call(net, fast, (xq,)), yq).item() / 50
    print("test loss before %.4f after adaptation %.4f" % (before, after))


if __name__ == "__main__":
    main()
