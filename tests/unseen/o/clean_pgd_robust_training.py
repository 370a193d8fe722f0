"""Adversarial training (PGD) of a small classifier.

TRUTH: correct: the attack makes a detached copy of the input a leaf in every iteration, takes the gradient with autograd.grad
with respect to the input only (no parameter gets a .grad from it), moves it by the sign outside the graph and projects it; the
model is in eval mode during the attack and back in train mode for the update, which trains on the detached adversarial batch.
Robust accuracy rises clearly over that of the normally trained net.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Rings:
    def __init__(self, n, seed, dim=20):
        g = torch.Generator().manual_seed(seed)
        mix = torch.Generator().manual_seed(1)
        proj = torch.randn(3, dim, generator=mix)
        self.y = torch.randint(0, 4, (n,), generator=g)
        centre = torch.tensor([[1., 1., 1.], [1., -1., -1.], [-1., 1., -1.], [-1., -1., 1.]])
        z = centre[self.y] + 0.25 * torch.randn(n, 3, generator=g)
        self.x = torch.tanh(z @ proj * 0.5) + 0.1 * torch.randn(n, dim, generator=g)
        weak = torch.randn(4, dim, generator=mix)
        self.x = self.x + 0.05 * weak[self.y]

    def batches(self, size, generator):
        order = torch.randperm(len(self.x), generator=generator)
        for i in range(0, len(order), size):
            j = order[i:i + size]
            yield self.x[j], self.y[j]


def make_model(dim=20, width=64):
    return nn.Sequential(
        nn.Linear(dim, width), nn.BatchNorm1d(width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1),
        nn.Linear(width, 4))


class PGD:
    def __init__(self, eps, step, iters):
        self.eps, self.step, self.iters = eps, step, iters

    def __call__(self, model, x, y):
        was_training = model.training
        model.eval()
        x_adv = x + torch.empty_like(x).uniform_(-self.eps, self.eps)
        for _ in range(self.iters):
            x_adv = x_adv.detach().requires_grad_(True)
            loss = F.cross_entropy(model(x_adv), y)
            grad, = torch.autograd.grad(loss, x_adv)
            x_adv = x_adv.detach() + self.step * grad.sign()
            x_adv = torch.max(torch.min(x_adv, x + self.eps), x - self.eps)
        model.train(was_training)
        return x_adv


def evaluate(model, data, attack):
    model.eval()
    with torch.no_grad():
        clean = (model(data.x).argmax(1) == data.y).float().mean().item()
    x_adv = attack(model, data.x, data.y)
    with torch.no_grad():
        robust = (model(x_adv).argmax(1) == data.y).float().mean().item()
    return clean, robust


def fit(model, data, attack, args, gen):
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * -(-len(data.x) // args.batch))
    for _ in range(args.epochs):
        model.train()
        for x, y in data.batches(args.batch, gen):
            if attack is not None:
                x = attack(model, x, y)
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
    return loss.item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--eps", type=float, default=0.35)
    p.add_argument("--iters", type=int, default=5)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.1)
    args = p.parse_args()
    torch.manual_seed(3)
    gen = torch.Generator().manual_seed(3)
    train, test = Rings(1024, 1), Rings(500, 2)
    train_attack = PGD(args.eps, args.eps / 3, args.iters)
    test_attack = PGD(args.eps, args.eps / 5, 20)

    for name, attack in (("standard", None), ("robust", train_attack)):
        model = make_model()
        loss = fit(model, train, attack, args, gen)
        clean, robust = evaluate(model, test, test_attack)
        print("%-9s last loss %.3f  test accuracy clean %.3f  under attack %.3f" % (name, loss, clean, robust))


if __name__ == "__main__":
    main()
