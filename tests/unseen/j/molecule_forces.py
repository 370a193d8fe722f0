# kind: requires_grad_too_late
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def morse(pos, depth=1.0, a=1.0, r0=1.5):
    """Reference energy of a cluster of atoms: the sum of Morse pair potentials."""
    i, j = torch.triu_indices(pos.size(1), pos.size(1), 1)
    r = (pos[:, i] - pos[:, j]).norm(dim=-1)
    return (depth * (1 - torch.exp(-a * (r - r0))) ** 2).sum(1)


def dataset(n=256, atoms=5):
    base = 1.5 * torch.randn(1, atoms, 3)
    pos = base + 0.25 * torch.randn(n, atoms, 3)
    probe = pos.clone().requires_grad_()
    energy = morse(probe)
    forces = -torch.autograd.grad(energy.sum(), probe)[0]
    energy = energy.detach()
    return TensorDataset(pos, (energy - energy.mean()) / energy.std(), forces / energy.std())


class RadialNet(nn.Module):
    def __init__(self, n_rbf=16, hidden=48, cutoff=8.0):
        super().__init__()
        self.register_buffer("centers", torch.linspace(0.3, cutoff, n_rbf))
        self.width = cutoff / n_rbf
        self.filter = nn.Sequential(nn.Linear(n_rbf, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.atom = nn.Sequential(nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1))

    def forward(self, pos):
        n = pos.size(1)
        off = ~torch.eye(n, dtype=torch.bool)
        diff = (pos[:, :, None] - pos[:, None, :])[:, off].view(pos.size(0), n, n - 1, 3)
        dist = diff.norm(dim=-1, keepdim=True)
        rbf = torch.exp(-((dist - self.centers) / self.width) ** 2)
        messages = self.filter(rbf).sum(2)
        return self.atom(messages).squeeze(-1).sum(1)


class ForceField:
    def __init__(self, net, create_graph=True):
        self.net = net
        self.create_graph = create_graph

    def energy_and_forces(self, pos):
        energy = self.net(pos)  # CULPRIT
        pos.requires_grad_(True)  # CULPRIT
        grad, = torch.autograd.grad(energy.sum(), pos, create_graph=self.create_graph)
        return energy, -grad


def train(field, loader, epochs=8, w_force=5.0):
    opt = torch.optim.Adam(field.net.parameters(), lr=2e-3)
    for epoch in range(epochs):
        log = []
        for pos, e_ref, f_ref in loader:
            e, f = field.energy_and_forces(pos)
            e_loss, f_loss = (e - e_ref).square().mean(), (f - f_ref).square().mean()
            opt.zero_grad()
            (e_loss + w_force * f_loss).backward()
            opt.step()
            log.append((e_loss.item(), f_loss.item()))
        e_mean, f_mean = torch.tensor(log).mean(0).tolist()
        print(f"epoch {epoch}: energy {e_mean:.4f} forces {f_mean:.4f}")


torch.manual_seed(3)
train(ForceField(RadialNet()), DataLoader(dataset(), batch_size=32, shuffle=True))
