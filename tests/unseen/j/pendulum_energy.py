# kind: grad_of_constant
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)


def pendulum_field(state):
    """Time derivative of (angle, momentum) for a pendulum of unit length."""
    q, p = state.unbind(-1)
    return torch.stack([p, -torch.sin(q)], dim=-1)


class Hamiltonian(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, 1, bias=False),
        )

    def forward(self, state):
        return self.net(state).squeeze(-1)


class SymplecticField:
    def __init__(self, energy, create_graph=True):
        self.energy = energy
        self.create_graph = create_graph

    def __call__(self, state):
        with torch.enable_grad():
            total = self.energy(state).sum()  # CULPRIT
            (dh,) = torch.autograd.grad(total, state, create_graph=self.create_graph)
        dq, dp = dh.unbind(-1)
        return torch.stack([dp, -dq], dim=-1)


def dataset(n):
    state = torch.empty(n, 2).uniform_(-2.0, 2.0)
    return TensorDataset(state, pendulum_field(state) + 0.02 * torch.randn(n, 2))


def evaluate(field):
    grid = torch.cartesian_prod(torch.linspace(-1.5, 1.5, 9), torch.linspace(-1.5, 1.5, 9))
    return (field(grid).detach() - pendulum_field(grid)).pow(2).mean().item()


def main():
    loader = DataLoader(dataset(512), batch_size=64, shuffle=True)
    energy = Hamiltonian()
    field = SymplecticField(energy)
    params = [p for p in energy.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=5e-3, weight_decay=1e-5)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=20)
    for epoch in range(20):
        running = 0.0
        for state, velocity in loader:
            loss = (field(state) - velocity).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
        sched.step()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1} loss {running / len(loader):.4f} grid {evaluate(field):.4f}")


main()
