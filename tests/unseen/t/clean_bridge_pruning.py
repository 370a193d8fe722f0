"""Bridge strain from many sensors: trains with channel-wise normalised gradients, then prunes channels by Taylor importance."""
import torch
from torch import nn
import torch.nn.functional as F

SENSORS = 12
LOUD = (7, 8, 9, 10, 11)


def equalise(grad):
    """Every channel learns at the same pace, whatever its scale."""
    return grad / grad.norm(dim=0, keepdim=True).clamp_min(1e-12)


class Taylor:
    """Mean of |activation * gradient| per channel, over the steps of a run."""

    def __init__(self, channels, decay=0.95):
        self.score = torch.zeros(channels)
        self.decay = decay
        self.features = None
        self.gradient = None

    def observe(self, features):
        self.features = features
        features.register_hook(self.record)
        return features

    def record(self, grad):
        self.gradient = grad.clone()

    def update(self):
        term = (self.features.detach() * self.gradient).abs().mean(0)
        self.score.mul_(self.decay).add_(term, alpha=1 - self.decay)
        self.features = None

    def keep(self, count):
        mask = torch.zeros_like(self.score)
        mask[self.score.topk(count).indices] = 1.0
        return mask


class StrainNet(nn.Module):
    def __init__(self, sensors, hidden=32):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(sensors))
        self.shift = nn.Parameter(torch.zeros(sensors))
        self.register_buffer("mask", torch.ones(sensors))
        self.top = nn.Sequential(nn.Linear(sensors, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def features(self, x):
        return (x * self.gain + self.shift) * self.mask

    def predict(self, features):
        return self.top(features).squeeze(-1)

    def forward(self, x):
        return self.predict(self.features(x))


def bridge(n, g):
    x = torch.randn(n, SENSORS, generator=g)
    strain = torch.tanh(x[:, 0] + x[:, 1]) + 0.7 * x[:, 2] - 0.7 * x[:, 3]
    x[:, LOUD] *= 4.0
    return x, strain + 0.05 * torch.randn(n, generator=g)


def train(model, g, steps, lr, taylor=None, label=""):
    slow = [model.gain, model.shift]
    opt = torch.optim.Adam([{"params": slow, "lr": lr / 100}, {"params": model.top.parameters()}], lr=lr)
    for step in range(steps):
        x, y = bridge(64, g)
        h = model.features(x)
        if taylor is not None:
            h = taylor.observe(h)
        h.register_hook(equalise)
        loss = F.mse_loss(model.predict(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if taylor is not None:
            taylor.update()
        if step % 250 == 0:
            print(f"{label} {step:4d} loss {loss.item():.4f}")


@torch.no_grad()
def error(model, data):
    x, y = data
    return F.mse_loss(model(x), y).item()


def main():
    torch.manual_seed(1)
    g = torch.Generator().manual_seed(8)
    test = bridge(800, g)
    model, taylor = StrainNet(SENSORS), Taylor(SENSORS)
    train(model, g, 1000, 5e-3, taylor, "full")
    print(f"all channels: error {error(model, test):.4f}")
    model.mask.copy_(taylor.keep(4))
    kept = model.mask.nonzero().flatten().tolist()
    print(f"kept {kept}: error {error(model, test):.4f}")
    train(model, g, 500, 3e-3, label="pruned")
    print(f"after fine-tuning: error {error(model, test):.4f}")


if __name__ == "__main__":
    main()
