"""Grade coffee aroma from sensor curves and log how strongly each block drives the loss.

TRUTH: the activations put away by the hooks are intermediate results and nobody asked to keep their gradients, so act.grad is None and the report fails with AttributeError; call retain_grad() on the output in the hook.
"""
import functools

import torch
from torch import nn


def remember(store, name, module, inputs, output):
    store[name] = output  # CULPRIT


class AromaNet(nn.Module):
    def __init__(self, sensors, width=24, grades=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(sensors, width, 5, padding=2), nn.ReLU())
        self.body = nn.Sequential(nn.Conv1d(width, width, 5, padding=2), nn.ReLU())
        self.head = nn.Linear(width, grades)

    def forward(self, x):
        return self.head(self.body(self.stem(x)).mean(-1))


def sensitivity(acts):
    """Gradient times activation, averaged over the batch, for every block."""
    return {
        name: (act.grad * act).abs().flatten(1).sum(1).mean().item() for name, act in acts.items()
    }


def cups(n, gen):
    grade = torch.randint(0, 4, (n,), generator=gen)
    time = torch.linspace(0, 1, 32)
    rise = 1 - torch.exp(-time * (2 + 2 * grade[:, None]))
    gain = torch.tensor([1.0, 0.6, 0.3])[None, :, None]
    return gain * rise[:, None] + 0.05 * torch.randn(n, 3, 32, generator=gen), grade


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(8)
    model, acts = AromaNet(3), {}
    for name in ("stem", "body"):
        getattr(model, name).register_forward_hook(functools.partial(remember, acts, name))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(80):
        x, grade = cups(64, gen)
        loss = nn.functional.cross_entropy(model(x), grade)
        optimizer.zero_grad()
        loss.backward()
        if step % 20 == 0:
            report = {k: round(v, 4) for k, v in sensitivity(acts).items()}
            print(f"step {step}  loss {loss.item():.3f}  {report}")
        optimizer.step()
    print(f"final loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
