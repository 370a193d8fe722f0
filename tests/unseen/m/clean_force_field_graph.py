"""RIGHT. Graph network for energies whose forces are gradients of the energy and enter the loss (second derivatives).
TRUTH: positions are fresh leaves in every batch, forces come from autograd.grad with create_graph while training and without it in evaluation,
where gradients must stay enabled although nothing is trained; distances are never zero because self pairs are excluded.
"""
import torch
import torch.nn as nn


class RadialBasis(nn.Module):
    def __init__(self, n, cutoff):
        super().__init__()
        self.cutoff = cutoff
        self.register_buffer("centers", torch.linspace(0.3, cutoff, n))
        self.gamma = 8.0

    def forward(self, d):
        envelope = 0.5 * (torch.cos(torch.pi * d / self.cutoff) + 1.0) * (d < self.cutoff)
        return torch.exp(-self.gamma * (d.unsqueeze(-1) - self.centers) ** 2) * envelope.unsqueeze(-1)


class EnergyNet(nn.Module):
    def __init__(self, dim=32, n_rbf=12, cutoff=3.0, types=2):
        super().__init__()
        self.emb = nn.Embedding(types, dim)
        self.rbf = RadialBasis(n_rbf, cutoff)
        self.filter = nn.Sequential(nn.Linear(n_rbf, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.update = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))

    def forward(self, types, pos, edges):
        b, n, _ = pos.shape
        src, dst = edges
        d = (pos[:, src] - pos[:, dst]).norm(dim=-1)
        h = self.emb(types)
        msg = h[:, src] * self.filter(self.rbf(d))
        agg = torch.zeros_like(h).index_add_(1, dst, msg)
        h = h + self.update(agg)
        return self.readout(h).sum(dim=(1, 2))


def pair_edges(n):
    i, j = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    keep = i != j
    return i[keep], j[keep]


def reference_energy(types, pos, edges):
    src, dst = edges
    d = (pos[:, src] - pos[:, dst]).norm(dim=-1)
    r0 = 1.0 + 0.2 * (types[:, src] + types[:, dst]).float()
    return 0.25 * ((1 - torch.exp(-1.2 * (d - r0))) ** 2).sum(1)


def forces_of(energy, pos, training):
    grad, = torch.autograd.grad(energy.sum(), pos, create_graph=training)
    return -grad


def make_batch(batch, n, edges):
    types = torch.randint(0, 2, (batch, n))
    grid = torch.tensor([[x, y, z] for x in range(2) for y in range(2) for z in range(2)]).float()[:n] * 1.2
    pos = (grid + 0.12 * torch.randn(batch, n, 3)).requires_grad_()
    energy = reference_energy(types, pos, edges)
    force = forces_of(energy, pos, training=False)
    return types, pos.detach(), energy.detach(), force


def evaluate(model, data, edges, shift):
    model.eval()
    types, pos, energy, force = data
    pos = pos.clone().requires_grad_()
    with torch.enable_grad():
        pred = model(types, pos, edges)
        f = forces_of(pred, pos, training=False)
    model.train()
    e_mae = (pred.detach() + shift - energy).abs().mean().item()
    return e_mae, (f - force).abs().mean().item()


def main():
    torch.manual_seed(0)
    n = 5
    edges = pair_edges(n)
    valid = make_batch(64, n, edges)
    shift = make_batch(256, n, edges)[2].mean()
    model = EnergyNet()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 150)
    print("before training: energy %.3f forces %.3f" % evaluate(model, valid, edges, shift))
    for step in range(150):
        types, pos, energy, force = make_batch(16, n, edges)
        pos.requires_grad_()
        pred = model(types, pos, edges)
        f = forces_of(pred, pos, training=True)
        loss = 0.1 * (pred + shift - energy).square().mean() + (f - force).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 50 == 49:
            print("step %d: energy %.3f forces %.3f" % ((step + 1,) + evaluate(model, valid, edges, shift)))


if __name__ == "__main__":
    main()
