"""A two-layer regression for crop yield from soil measurements, written without nn.Module and without torch.optim.

TRUTH: The coefficients from which the synthetic targets are made are created with requires_grad=True, so the whole target
vector Y carries one graph that is built once, before training. Every minibatch of Y is a slice of it; the first backward runs
into that graph and frees it, the second minibatch raises "Trying to backward through the graph a second time". Fix: create
true_weight (and true_bias) without requires_grad (or detach Y). Drawn from https://github.com/zhangyu2234/Deep-learning-by-hand.
"""
import math
import random

import torch

SOIL = ["nitrogen", "phosphorus", "potassium", "humus", "moisture", "acidity"]


def make_fields(n, generator):
    readings = torch.randn(n, len(SOIL), generator=generator)
    true_weight = torch.randn(len(SOIL), 1, generator=generator).requires_grad_()  # CULPRIT
    true_bias = torch.full((1,), 4.2)
    score = torch.mm(readings, true_weight) + true_bias
    harvest = torch.nn.functional.softplus(score) + 0.05 * torch.randn(n, 1, generator=generator)
    return readings, harvest


def batches(x, y, size):
    order = list(range(len(x)))
    random.shuffle(order)
    for i in range(0, len(order), size):
        idx = torch.tensor(order[i:i + size])
        yield x[idx], y[idx]


def init_params(sizes, generator):
    params = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):
        w = torch.randn(n_in, n_out, generator=generator) * math.sqrt(2.0 / n_in)
        params += [w.requires_grad_(), torch.zeros(n_out, requires_grad=True)]
    return params


def network(x, params):
    layers = list(zip(params[0::2], params[1::2]))
    for k, (w, b) in enumerate(layers):
        x = torch.mm(x, w) + b
        if k < len(layers) - 1:
            x = torch.clamp(x, min=0)
    return x


def squared_loss(y_hat, y):
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2


def sgd(params, lr, batch_size):
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad / batch_size
            p.grad.zero_()


def evaluate(x, y, params):
    with torch.no_grad():
        err = network(x, params) - y
        r2 = 1 - (err ** 2).sum() / ((y - y.mean()) ** 2).sum()
    return err.abs().mean().item(), r2.item()


def main(epochs=12, batch_size=25, lr=0.05):
    random.seed(3)
    g = torch.Generator().manual_seed(3)
    x, y = make_fields(1500, g)
    x_train, y_train, x_test, y_test = x[:1200], y[:1200], x[1200:], y[1200:]
    print(f"{len(x_train)} fields for training, mean harvest {y_train.mean():.2f} t/ha")

    params = init_params([len(SOIL), 24, 1], g)
    best = float("inf")
    for epoch in range(epochs):
        running, seen = 0.0, 0
        for xb, yb in batches(x_train, y_train, batch_size):
            loss = squared_loss(network(xb, params), yb).sum()
            loss.backward()
            sgd(params, lr, len(xb))
            running += loss.item()
            seen += len(xb)
        mae, r2 = evaluate(x_test, y_test, params)
        best = min(best, mae)
        if epoch % 3 == 2:
            lr *= 0.7
        print(f"epoch {epoch + 1:2d}  train {running / seen:.4f}  test mae {mae:.3f}  r2 {r2:.3f}")
    print(f"best test mae {best:.3f}")
    strongest = params[0].detach().abs().sum(1).argmax().item()
    print("most used reading:", SOIL[strongest])


if __name__ == "__main__":
    main()
