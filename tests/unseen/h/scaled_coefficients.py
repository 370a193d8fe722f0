"""WRONG. a.grad is None after backward although a was made with requires_grad=True, and a does not move while b does.
TRUTH: a is the product of a leaf tensor with a constant, so it is no leaf and gets no .grad; multiply first and set requires_grad afterwards.
THREAD: https://github.com/pytorch/pytorch/issues/91851
"""
import math

import torch

torch.manual_seed(0)

learning_rate = 0.05
n_iter = 400


def decay_curve(t, a, b, c):
    """amplitude a, rate b, offset c"""
    return a * torch.exp(-b * t) + c


def measurements(n=120):
    t = torch.linspace(0, 6, n)
    y = decay_curve(t, torch.tensor(3.0), torch.tensor(0.7), torch.tensor(-0.5))
    return t, y + 0.05 * torch.randn(n)


def init_coefficients():
    """start from rough guesses, scaled to the range of the instrument"""
    a = torch.tensor(5.0, requires_grad=True) * 0.1  # CULPRIT
    b = torch.tensor(0.2, requires_grad=True)
    c = torch.tensor(0.0, requires_grad=True)
    return {'a': a, 'b': b, 'c': c}


class Fit:
    def __init__(self, coefficients, lr):
        self.coefficients = coefficients
        self.lr = lr
        self.best = math.inf

    def predict(self, t):
        return decay_curve(t, **self.coefficients)

    def loss(self, t, y):
        residual = self.predict(t) - y
        return (residual ** 2).mean()

    def backward(self, t, y):
        for p in self.coefficients.values():
            p.grad = None
        loss = self.loss(t, y)
        loss.backward(retain_graph=True)
        return loss.item()

    def step(self):
        with torch.no_grad():
            for p in self.coefficients.values():
                if p.grad is not None:
                    p -= self.lr * p.grad

    def report(self, it, value):
        values = ' '.join('%s=%.3f' % (k, v.item()) for k, v in self.coefficients.items())
        print('iter %d loss %.5f %s' % (it, value, values))


t, y = measurements()
fit = Fit(init_coefficients(), learning_rate)

for it in range(n_iter):
    value = fit.backward(t, y)
    if it == 0:
        print({k: v.grad for k, v in fit.coefficients.items()})
    fit.step()
    fit.best = min(fit.best, value)
    if (it + 1) % 100 == 0:
        fit.report(it + 1, value)

print('best loss %.5f' % fit.best)
