"""RIGHT. Domain adaptation with a gradient reversal function, a decoder tied to the encoder's weights, and two optimizers stepped after one backward.
TRUTH: the reversal passes lambda through apply and returns None for it; the tied weight is one parameter, held by one optimizer only, and collects gradient from both uses; the domain head minimizes the same loss that reaches the features with reversed sign; lambda = 0 at the start is the schedule.
"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ReverseLayerF(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class TiedAutoencoder(nn.Module):
    def __init__(self, in_dim=10, hidden=16):
        super().__init__()
        self.enc = nn.Linear(in_dim, hidden)
        self.dec_bias = nn.Parameter(torch.zeros(in_dim))

    def encode(self, x):
        return torch.tanh(self.enc(x))

    def decode(self, h):
        return F.linear(h, self.enc.weight.t(), self.dec_bias)


class DANN(nn.Module):
    def __init__(self):
        super().__init__()
        self.ae = TiedAutoencoder()
        self.label = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
        self.domain = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x, alpha):
        h = self.ae.encode(x)
        d = self.domain(ReverseLayerF.apply(h, alpha)).squeeze(1)
        return self.label(h), d, self.ae.decode(h)


def batch(n, domain, gen):
    y = torch.randint(0, 2, (n,), generator=gen)
    x = torch.randn(n, 10, generator=gen) * 0.6
    x[:, 0] += 2.0 * y - 1.0
    x[:, 1] += 1.5 * domain
    x[:, 2] += 0.8 * (2.0 * y - 1.0) * (1 - domain)
    return x, y


def main(steps=120):
    gen = torch.Generator().manual_seed(3)
    net = DANN()
    feature_params = list(net.ae.parameters()) + list(net.label.parameters())
    opt_f = torch.optim.Adam(feature_params, lr=5e-3)
    opt_d = torch.optim.SGD(net.domain.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        alpha = 2.0 / (1.0 + math.exp(-10 * step / steps)) - 1.0
        xs, ys = batch(64, 0.0, gen)
        xt, _ = batch(64, 1.0, gen)
        ls, ds, rs = net(xs, alpha)
        _, dt, rt = net(xt, alpha)
        cls = F.cross_entropy(ls, ys)
        dom = F.binary_cross_entropy_with_logits(torch.cat([ds, dt]), torch.cat([torch.zeros(64), torch.ones(64)]))
        rec = F.mse_loss(rs, xs) + F.mse_loss(rt, xt)
        opt_f.zero_grad()
        opt_d.zero_grad()
        (cls + 0.3 * dom + 0.1 * rec).backward()
        opt_f.step()
        opt_d.step()
        if step % 30 == 0 or step == steps - 1:
            with torch.no_grad():
                x, y = batch(1000, 1.0, gen)
                acc = (net(x, 0.0)[0].argmax(1) == y).float().mean().item()
            print("step %3d cls %.3f dom %.3f rec %.3f target acc %.3f" % (step, cls.item(), dom.item(), rec.item(), acc))


if __name__ == "__main__":
    main()
