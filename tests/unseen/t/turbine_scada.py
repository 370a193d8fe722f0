"""Fits a coupling flow to wind turbine telemetry and compares the spread of its samples with the data.

TRUTH: Each coupling multiplies by `scale`, but hands back the sum of `scale` as its log-determinant, where the
density needs the sum of log(scale). The training maximises something that is no density: scales are driven
to the wrong size and the samples' spread does not match the data. Return scale.log().sum(-1).
"""
import torch
from torch import nn


class Conditioner(nn.Module):
    def __init__(self, d_in, d_out, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_in, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.out = nn.Linear(width, 2 * d_out)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x):
        return self.out(self.body(x)).chunk(2, dim=-1)


class Coupling(nn.Module):
    """Half of the channels pass unchanged and set scale and shift of the other half."""

    low, high = 0.05, 12.0

    def __init__(self, dim, flip):
        super().__init__()
        self.keep = dim // 2
        self.flip = flip
        self.net = Conditioner(self.keep, dim - self.keep)

    def _factors(self, a):
        raw, shift = self.net(a)
        scale = self.low + (self.high - self.low) * torch.sigmoid(raw - 2.4)
        return scale, shift

    def encode(self, x):
        if self.flip:
            x = x.flip(-1)
        a, b = x[:, : self.keep], x[:, self.keep :]
        scale, shift = self._factors(a)
        z = torch.cat([a, b * scale + shift], -1)
        return z, scale.sum(-1)  # CULPRIT

    def decode(self, z):
        a, b = z[:, : self.keep], z[:, self.keep :]
        scale, shift = self._factors(a)
        x = torch.cat([a, (b - shift) / scale], -1)
        return x.flip(-1) if self.flip else x


class TelemetryFlow(nn.Module):
    def __init__(self, dim, depth=4):
        super().__init__()
        self.steps = nn.ModuleList(Coupling(dim, flip=bool(i % 2)) for i in range(depth))
        self.base = torch.distributions.Normal(0.0, 1.0)

    def log_prob(self, x):
        total = x.new_zeros(len(x))
        for step in self.steps:
            x, gain = step.encode(x)
            total = total + gain
        return total + self.base.log_prob(x).sum(-1)

    @torch.no_grad()
    def sample(self, n, dim):
        x = torch.randn(n, dim)
        for step in reversed(self.steps):
            x = step.decode(x)
        return x


def telemetry(n):
    """Columns: rotor speed, power, pitch, nacelle temperature (all centred, small units)."""
    wind = torch.randn(n)
    rotor = 0.4 * torch.tanh(wind) + 0.03 * torch.randn(n)
    power = 0.5 * rotor**3 + 0.3 * rotor + 0.02 * torch.randn(n)
    pitch = 0.25 * torch.relu(wind - 0.5) + 0.04 * torch.randn(n)
    temp = 0.2 * power + 0.1 * torch.randn(n)
    out = torch.stack([rotor, power, pitch, temp], -1)
    return out - out.mean(0)


def batches(data, size, epochs):
    for epoch in range(epochs):
        for idx in torch.randperm(len(data)).split(size):
            yield epoch, data[idx]


def main():
    torch.manual_seed(4)
    data = telemetry(4096)
    flow = TelemetryFlow(data.shape[1])
    opt = torch.optim.Adam(flow.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=20 * 16)
    for i, (epoch, x) in enumerate(batches(data, 256, 20)):
        opt.zero_grad()
        nll = -flow.log_prob(x).mean()
        nll.backward()
        torch.nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        opt.step()
        sched.step()
        if i % 64 == 0:
            print(f"epoch {epoch:2d}  nll {nll.item():8.3f}")
    flow.eval()
    drawn = flow.sample(4096, data.shape[1])
    for name, real, fake in zip(("rotor", "power", "pitch", "temp"), data.std(0), drawn.std(0)):
        print(f"{name:6s} std data {real.item():.3f}  model {fake.item():.3f}")


if __name__ == "__main__":
    main()
