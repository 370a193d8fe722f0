"""RIGHT. A pair potential is trained on forces; the forces are gradients of the energy, in evaluation computed inside a function that is decorated with no_grad.
TRUTH: in training the forces are taken with create_graph=True, so the force loss reaches the parameters; in evaluation the inner torch.enable_grad() switches recording on again locally and no graph is kept (create_graph=False, results detached). pos is detached on purpose: a leaf of its own per call. The last bias gets no gradient from forces (a constant of the energy), so it is set from the mean energy afterwards under no_grad.
"""
import torch
import torch.nn as nn

torch.manual_seed(0)

cfg = dict(atoms=4, hidden=32, lr=1e-2, steps=120, n_train=64, n_test=32)
PAIRS = torch.triu_indices(cfg["atoms"], cfg["atoms"], offset=1)
BASE = torch.tensor([[0.0, 0, 0], [1.5, 0, 0], [0, 1.6, 0], [0, 0, 1.4]])


class Potential(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.out = nn.Linear(hidden, 1)

    def forward(self, pos):
        d = pos[:, PAIRS[0]] - pos[:, PAIRS[1]]
        r = (d.pow(2).sum(-1, keepdim=True) + 1e-12).sqrt()
        return self.out(self.body(r - 1.5)).squeeze(-1).sum(1)


def spring_energy(pos):
    r = (pos[:, PAIRS[0]] - pos[:, PAIRS[1]]).norm(dim=-1)
    return 0.5 * (r - 1.6).pow(2).sum(1) + 0.1 * (r - 1.6).pow(3).sum(1)


def energy_and_forces(fn, pos, train):
    with torch.enable_grad():
        pos = pos.detach().requires_grad_(True)
        energy = fn(pos)
        grad, = torch.autograd.grad(energy.sum(), pos, create_graph=train)
    if not train:
        energy, grad = energy.detach(), grad.detach()
    return energy, -grad


def dataset(n):
    pos = BASE + 0.2 * torch.randn(n, cfg["atoms"], 3)
    return (pos, *energy_and_forces(spring_energy, pos, train=False))


@torch.no_grad()
def evaluate(model, data):
    pos, e, f = data
    model.eval()
    pe, pf = energy_and_forces(model, pos, train=False)
    model.train()
    return (pe - e).abs().mean().item(), (pf - f).abs().mean().item()


@torch.no_grad()
def set_energy_offset(model, data):
    pos, e, _ = data
    n_pairs = PAIRS.size(1)
    model.out.bias.add_((e - model(pos)).mean() / n_pairs)


def main():
    train, test = dataset(cfg["n_train"]), dataset(cfg["n_test"])
    model = Potential(cfg["hidden"])
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=cfg["steps"])
    for step in range(cfg["steps"]):
        _, forces = energy_and_forces(model, train[0], train=True)
        loss = (forces - train[2]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 30 == 0:
            print(f"step {step:3d} force loss {loss.item():.5f}")
    set_energy_offset(model, train)
    mae_e, mae_f = evaluate(model, test)
    print(f"test MAE energy {mae_e:.4f} force {mae_f:.4f} (mean |f| {test[2].abs().mean().item():.3f})")


if __name__ == "__main__":
    main()
