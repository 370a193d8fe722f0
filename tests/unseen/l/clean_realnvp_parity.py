"""RIGHT. RealNVP that writes the transformed coordinates in place into a clone, with an ActNorm initialized from the first batch under no_grad.
TRUTH: the in-place writes go into a fresh clone, the networks read from the untouched input; log determinants are summed over the feature dimension only and added with the right sign; the data-dependent initialization happens once, before any graph of that layer exists; the inverse is checked.
"""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.shift = nn.Parameter(torch.zeros(dim))
        self.register_buffer("ready", torch.tensor(False))

    @torch.no_grad()
    def _init(self, x):
        self.log_scale.copy_(-x.std(0).clamp(min=1e-3).log())
        self.shift.copy_(-x.mean(0) * self.log_scale.exp())
        self.ready.fill_(True)

    def forward(self, x):
        if self.training and not self.ready:
            self._init(x)
        return x * self.log_scale.exp() + self.shift, self.log_scale.sum().expand(len(x))

    def inverse(self, z):
        return (z - self.shift) * torch.exp(-self.log_scale)


class Coupling(nn.Module):
    def __init__(self, dim, parity, hidden=48):
        super().__init__()
        idx = torch.arange(dim)
        self.register_buffer("keep", idx[idx % 2 == parity])
        self.register_buffer("change", idx[idx % 2 != parity])
        self.net = nn.Sequential(nn.Linear(len(self.keep), hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
                                 nn.Linear(hidden, 2 * len(self.change)))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def _params(self, kept):
        s, t = self.net(kept).chunk(2, dim=1)
        return torch.tanh(s), t

    def forward(self, x):
        s, t = self._params(x[:, self.keep])
        y = x.clone()
        y[:, self.change] = x[:, self.change] * s.exp() + t
        return y, s.sum(dim=1)

    def inverse(self, y):
        s, t = self._params(y[:, self.keep])
        x = y.clone()
        x[:, self.change] = (y[:, self.change] - t) * torch.exp(-s)
        return x


class Flow(nn.Module):
    def __init__(self, dim=4, depth=4):
        super().__init__()
        layers = []
        for i in range(depth):
            layers += [ActNorm(dim), Coupling(dim, i % 2)]
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        log_det = x.new_zeros(len(x))
        for layer in self.layers:
            x, ld = layer(x)
            log_det = log_det + ld
        return x, log_det

    def inverse(self, z):
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z

    def log_prob(self, x):
        z, log_det = self(x)
        return -0.5 * (z ** 2).sum(1) - 0.5 * z.shape[1] * math.log(2 * math.pi) + log_det


def data(n):
    a = torch.randn(n, 2)
    b = torch.stack([a[:, 0] ** 2 + 0.2 * torch.randn(n), torch.sin(2 * a[:, 1]) + 0.2 * torch.randn(n)], 1)
    return torch.cat([a, b], dim=1) * 2 + 1


def main(steps=100):
    flow = Flow()
    opt = torch.optim.Adam(flow.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 10))
    for step in range(steps):
        loss = -flow.log_prob(data(256)).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 10.0)
        opt.step()
        sched.step()
        if step % 25 == 0 or step == steps - 1:
            print("step %2d nll %.3f" % (step, loss.item()))
    flow.eval()
    with torch.no_grad():
        x = data(100)
        z, log_det = flow(x)
        print("largest inversion error %.1e" % (flow.inverse(z) - x).abs().max())
    jac = torch.autograd.functional.jacobian(lambda v: flow(v[None])[0][0], x[0])
    print("log det %.4f, by jacobian %.4f" % (log_det[0], torch.linalg.slogdet(jac).logabsdet))


if __name__ == "__main__":
    main()
