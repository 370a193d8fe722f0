# kind: same_tensor_kept
"""Next-state prediction for particles in a harmonic trap; the data come from an own simulator."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Trap:
    """Leapfrog integration of independent particles."""

    def __init__(self, n, dt=0.15):
        self.state = torch.randn(n, 4)
        self.dt = dt

    @property
    def x(self):
        return self.state[:, :2]

    @property
    def v(self):
        return self.state[:, 2:]

    def acceleration(self):
        return -self.x * torch.tensor([1.0, 2.0])

    def advance(self):
        self.v.add_(self.acceleration(), alpha=0.5 * self.dt)
        self.x.add_(self.v, alpha=self.dt)
        self.v.add_(self.acceleration(), alpha=0.5 * self.dt)


class Recorder:
    def __init__(self, every=2):
        self.every = every
        self.frames = []

    def __call__(self, step, system):
        if step % self.every == 0:
            self.frames.append(system.state)  # CULPRIT


def simulate(system, steps, observers):
    for step in range(steps):
        for observe in observers:
            observe(step, system)
        system.advance()


class Pairs(Dataset):
    """(state, state a few steps later)"""

    def __init__(self, frames):
        self.now = torch.cat(frames[:-1])
        self.later = torch.cat(frames[1:])

    def __len__(self):
        return len(self.now)

    def __getitem__(self, i):
        return self.now[i], self.later[i]


def main():
    torch.manual_seed(0)
    recorder = Recorder()
    simulate(Trap(40), 60, [recorder])
    loader = DataLoader(Pairs(recorder.frames), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        for now, later in loader:
            loss = F.mse_loss(model(now), later)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}  loss {loss.item():.5f}")
    fresh = Trap(200)
    start = fresh.state.clone()
    fresh.advance()
    fresh.advance()
    with torch.no_grad():
        error = F.mse_loss(model(start), fresh.state).item()
    print(f"error on a new simulation {error:.4f}")


if __name__ == "__main__":
    main()
