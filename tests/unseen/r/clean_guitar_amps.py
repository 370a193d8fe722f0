"""Meta-learn a start for models of guitar amplifiers with the Reptile update.

TRUTH: detach() shares memory with the parameters, so after the inner steps the weights put aside equal the adapted ones and the interpolation does nothing: the outer rate has no effect and the model is simply left at the adapted weights (printed distance 0); clone the weights.
"""
import torch
import torch.nn.functional as F
from torch import nn


class Amp:
    """A random soft clipping curve."""

    def __init__(self, gen):
        self.drive = 1 + 4 * torch.rand(1, generator=gen)
        self.bias = 0.4 * torch.randn(1, generator=gen)
        self.gen = gen

    def sample(self, n):
        x = torch.rand(n, 1, generator=self.gen) * 2 - 1
        return x, torch.tanh(self.drive * x + self.bias)


def make_model():
    return nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))


class Reptile:
    def __init__(self, model, inner_lr=0.05, inner_steps=6, outer_lr=0.2):
        self.model = model
        self.inner_lr, self.inner_steps, self.outer_lr = inner_lr, inner_steps, outer_lr

    def adapt(self, task):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=self.inner_lr)
        for _ in range(self.inner_steps):
            x, y = task.sample(32)
            loss = F.mse_loss(self.model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    def outer_step(self, task):
        start = [p.detach().clone() for p in self.model.parameters()]
        loss = self.adapt(task)
        moved = 0.0
        with torch.no_grad():
            for p, old in zip(self.model.parameters(), start):
                moved += (p - old).square().sum().item()
                p.copy_(old + self.outer_lr * (p - old))
        return loss, moved ** 0.5


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    reptile = Reptile(make_model())
    for episode in range(121):
        loss, moved = reptile.outer_step(Amp(gen))
        if episode % 30 == 0:
            print(f"episode {episode:3d}  adapted loss {loss:.4f}  distance to the start {moved:.4f}")


if __name__ == "__main__":
    main()
