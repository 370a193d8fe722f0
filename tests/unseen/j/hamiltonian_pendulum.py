# kind: derivative_of_a_mean
"""Hamiltonian neural network for a pendulum, learned from observed velocities."""
import torch
from torch import nn


def true_field(state):
    """dq/dt = p, dp/dt = -sin q."""
    q, p = state.unbind(dim=1)
    return torch.stack([p, -torch.sin(q)], dim=1)


def observe(n, gen, noise=0.02):
    state = torch.rand(n, 2, generator=gen) * 4 - 2
    rates = true_field(state)
    return state, rates + noise * torch.randn(n, 2, generator=gen)


class EnergyNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.inp = nn.Linear(2, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, 1, bias=False)

    def forward(self, state):
        h = torch.tanh(self.inp(state))
        h = torch.tanh(self.mid(h))
        return self.out(h)


class HamiltonianDynamics(nn.Module):
    def __init__(self, energy):
        super().__init__()
        self.energy = energy
        self.register_buffer("symplectic", torch.tensor([[0.0, 1.0], [-1.0, 0.0]]))

    def forward(self, state):
        with torch.enable_grad():
            state = state.detach().requires_grad_(True)
            total = self.energy(state).mean()  # CULPRIT
            slope, = torch.autograd.grad(total, state, create_graph=self.training)
        return slope @ self.symplectic.t()


@torch.no_grad()
def simulate(model, start, dt=0.05, steps=60):
    """Midpoint rule, gives the path of a single pendulum."""
    state, path = start, [start]
    for _ in range(steps):
        half = state + 0.5 * dt * model(state)
        state = state + dt * model(half)
        path.append(state)
    return torch.cat(path)


def true_energy(path):
    return 0.5 * path[:, 1] ** 2 + 1 - torch.cos(path[:, 0])


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(5)
    model = HamiltonianDynamics(EnergyNet())
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    state, rates = observe(512, gen)
    for epoch in range(15):
        for idx in torch.randperm(len(state)).split(64):
            loss = (model(state[idx]) - rates[idx]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        if epoch % 3 == 2:
            print(f"epoch {epoch} rate error {loss.item():.4f}")
    model.eval()
    path = simulate(model, torch.tensor([[1.2, 0.0]]))
    energy = true_energy(path)
    print(f"energy drift of a path {(energy.max() - energy.min()).item():.3f} "
          f"largest speed {path[:, 1].abs().max().item():.3f} (about 1.13 is right)")


if __name__ == "__main__":
    main()
