"""RIGHT. Two tasks with PCGrad on the shared trunk, a straight-through rounding layer, and learned uncertainty weights with their own optimizer.
TRUTH: the graph is retained for the two per-task autograd.grad calls because the backward of the weighted loss follows; trunk gradients are written by hand from the projected ones, heads and log-variances get theirs from the weighted loss; the rounding Function passes the gradient on purpose and returns None for its step argument.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step):
        return torch.round(x / step) * step

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 16), nn.Tanh())
        self.reg = nn.Linear(16, 1)
        self.cls = nn.Linear(16, 3)

    def forward(self, x):
        h = RoundSTE.apply(self.trunk(x), 0.125)
        return self.reg(h).squeeze(-1), self.cls(h)


class Uncertainty(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(2))

    def weights(self):
        return torch.exp(-self.log_var)

    def forward(self, losses):
        return (self.weights() * losses + self.log_var).sum()


def flat(grads):
    return torch.cat([g.reshape(-1) for g in grads])


def project(g1, g2):
    dot = g1 @ g2
    if dot >= 0:
        return g1 + g2, False
    p1 = g1 - dot / g2.pow(2).sum().clamp(min=1e-12) * g2
    p2 = g2 - dot / g1.pow(2).sum().clamp(min=1e-12) * g1
    return p1 + p2, True


def assign(params, vector):
    offset = 0
    for p in params:
        n = p.numel()
        p.grad = vector[offset:offset + n].view_as(p).clone()
        offset += n


def sample(n=64):
    x = torch.randn(n, 6)
    y = x[:, 0] - x[:, 1] + 0.1 * torch.randn(n)
    c = (x[:, 1] + x[:, 2] > 0).long() + (x[:, 3] > 0.5).long()
    return x, y, c


def main():
    net, unc = Net(), Uncertainty()
    trunk = list(net.trunk.parameters())
    heads = list(net.reg.parameters()) + list(net.cls.parameters())
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    opt_unc = torch.optim.SGD(unc.parameters(), lr=5e-2)
    conflicts = 0
    for step in range(60):
        x, y, c = sample()
        pred, logits = net(x)
        losses = torch.stack([F.mse_loss(pred, y), F.cross_entropy(logits, c)])
        w = unc.weights().detach()

        g1 = flat(torch.autograd.grad(w[0] * losses[0], trunk, retain_graph=True))
        g2 = flat(torch.autograd.grad(w[1] * losses[1], trunk, retain_graph=True))
        merged, hit = project(g1, g2)
        conflicts += hit

        total = unc(losses)
        opt.zero_grad()
        opt_unc.zero_grad()
        total.backward(inputs=heads + list(unc.parameters()))
        assign(trunk, merged)
        opt.step()
        opt_unc.step()
        if step % 15 == 14:
            with torch.no_grad():
                xv, yv, cv = sample(300)
                p, l = net(xv)
                print(f"step {step + 1} mse {F.mse_loss(p, yv).item():.3f} acc {(l.argmax(1) == cv).float().mean().item():.3f} "
                      f"log_var {[round(v, 2) for v in unc.log_var.tolist()]} conflicts {conflicts}")


if __name__ == "__main__":
    main()
