"""Gas alarm for mine shafts; a probe watches the gradients that arrive at each convolution while it trains."""
import collections
import math
from functools import partial

import torch
from torch import nn
import torch.nn.functional as F

ACTIVATIONS = {
    "silu": partial(nn.SiLU, inplace=False),
    "relu": partial(nn.ReLU, inplace=False),
    "gelu": nn.GELU,
}


class GradientProbe:
    """Mean size of the gradient at the output of chosen modules."""

    def __init__(self, model, kinds=(nn.Conv1d,)):
        self.sums = collections.defaultdict(float)
        self.calls = collections.Counter()
        self.handles = [
            m.register_full_backward_hook(partial(self._seen, name))
            for name, m in model.named_modules() if isinstance(m, kinds)
        ]

    def _seen(self, name, module, grad_input, grad_output):
        self.sums[name] += grad_output[0].abs().mean().item()
        self.calls[name] += 1

    def summary(self):
        line = {n: f"{self.sums[n] / self.calls[n]:.2e}" for n in self.sums}
        self.sums.clear(), self.calls.clear()
        return line

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for handle in self.handles:
            handle.remove()


class GasNet(nn.Module):
    def __init__(self, gases=3, widths=(12, 12), activation="relu"):
        super().__init__()
        act = ACTIVATIONS[activation]
        layers, last = [nn.GroupNorm(1, gases)], gases
        for k, width in enumerate(widths):
            layers += [nn.Conv1d(last, width, 5, dilation=2 ** k), act()]
            last = width
        self.trunk = nn.Sequential(*layers)
        self.alarm = nn.Linear(last, 1)

    def forward(self, x):
        return self.alarm(self.trunk(x).amax(-1)).squeeze(-1)


def shafts(n, g, length=48):
    """An alarm is a short joint rise of methane and carbon monoxide."""
    x = torch.randn(n, 3, length, generator=g)
    y = torch.randint(0, 2, (n,), generator=g)
    t = torch.arange(length)
    for i in range(n):
        a, b = torch.randint(6, length - 6, (2,), generator=g).tolist()
        b = a if y[i] else b
        x[i, 0] += 2.5 * torch.exp(-((t - a) / 2.0) ** 2)
        x[i, 1] += 2.5 * torch.exp(-((t - b) / 2.0) ** 2)
    return x, y.float()


def cosine(step, total, top, low=0.05):
    return low + (top - low) * 0.5 * (1 + math.cos(math.pi * step / total))


@torch.no_grad()
def hit_rate(model, data):
    model.eval()
    x, y = data
    rate = ((model(x) > 0).float() == y).float().mean().item()
    model.train()
    return rate


def main(total=201):
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(17)
    model = GasNet()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: cosine(s, total, 1.0))
    test = shafts(300, g)
    pool = shafts(2000, g)
    with GradientProbe(model) as probe:
        for step in range(total):
            idx = torch.randint(0, len(pool[1]), (64,), generator=g)
            loss = F.binary_cross_entropy_with_logits(model(pool[0][idx]), pool[1][idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            schedule.step()
            if step % 50 == 0:
                print(f"{step:4d} loss {loss.item():.4f} hits {hit_rate(model, test):.3f} {probe.summary()}")


if __name__ == "__main__":
    main()
