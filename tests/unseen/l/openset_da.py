"""WRONG. Backward stops with "AttributeError: 'GradReverseBackward' object has no attribute 'lambd'" after the old call was changed to GradReverse(lambd).apply(x).
TRUTH: apply is a class method: the instance made by GradReverse(lambd) and its attribute are never seen in forward/backward. lambd has to be passed through apply (`GradReverse.apply(x, lambd)`), kept on ctx in forward, and backward returns None for it.
THREAD: https://github.com/YU1ut/openset-DA/issues/8
"""
import argparse
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function

torch.manual_seed(0)


class GradReverse(Function):
    def __init__(self, lambd):
        self.lambd = lambd

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * -ctx.lambd


def grad_reverse(x, lambd=1.0):
    return GradReverse(lambd).apply(x)  # CULPRIT


class Generator(nn.Module):
    def __init__(self, dim=2, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.bn1 = nn.BatchNorm1d(hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.bn2 = nn.BatchNorm1d(hidden)

    def forward(self, x):
        x = F.relu(self.bn1(self.fc1(x)))
        return F.relu(self.bn2(self.fc2(x)))


class Classifier(nn.Module):
    def __init__(self, num_classes, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(hidden, hidden)
        self.fc2 = nn.Linear(hidden, num_classes)
        self.lambd = 1.0

    def set_lambda(self, lambd):
        self.lambd = lambd

    def forward(self, x, reverse=False):
        if reverse:
            x = grad_reverse(x, self.lambd)
        return self.fc2(F.leaky_relu(self.fc1(x), 0.2))


def make_domain(n, shift, known, total):
    y = torch.randint(0, total, (n,))
    ang = 2 * math.pi * y.float() / total
    x = torch.stack([ang.cos(), ang.sin()], 1) * 3 + 0.5 * torch.randn(n, 2) + shift
    y = torch.where(y >= known, torch.full_like(y, known), y)
    return x, y


@torch.no_grad()
def test(G, C, x, y, num_classes):
    G.eval(), C.eval()
    pred = C(G(x)).argmax(1)
    per_class = [(pred[y == c] == c).float().mean().item() for c in range(num_classes)]
    G.train(), C.train()
    return sum(per_class) / num_classes, per_class[-1]


def bce_loss(output, target):
    p = F.softmax(output, dim=1)[:, -1].clamp(1e-6, 1 - 1e-6)
    return -target * p.log().mean() - (1 - target) * (1 - p).log().mean()


def train(args):
    known = args.num_classes - 1
    xs, ys = make_domain(400, torch.tensor([0.0, 0.0]), known, known)
    xt, yt = make_domain(400, torch.tensor([0.5, 0.3]), known, args.num_classes)
    G, C = Generator(), Classifier(args.num_classes)
    opt_g = torch.optim.SGD(G.parameters(), lr=args.lr, momentum=0.9)
    opt_c = torch.optim.SGD(C.parameters(), lr=args.lr, momentum=0.9)
    for step in range(args.steps):
        p = step / args.steps
        C.set_lambda(2.0 / (1.0 + math.exp(-10 * p)) - 1)
        i, j = torch.randint(0, 400, (64,)), torch.randint(0, 400, (64,))
        opt_g.zero_grad()
        opt_c.zero_grad()
        loss_s = F.cross_entropy(C(G(xs[i])), ys[i])
        loss_adv = bce_loss(C(G(xt[j]), reverse=True), args.t)
        loss = loss_s + args.adv_weight * loss_adv
        loss.backward()
        opt_g.step()
        opt_c.step()
        if step % 15 == 0 or step == args.steps - 1:
            print("step %d  cls %.3f adv %.3f  | OS %.3f unk %.3f" % (
                (step, loss_s.item(), loss_adv.item()) + test(G, C, xt, yt, args.num_classes)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_classes", type=int, default=5)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--t", type=float, default=0.5)
    parser.add_argument("--adv_weight", type=float, default=0.3)
    train(parser.parse_args())
