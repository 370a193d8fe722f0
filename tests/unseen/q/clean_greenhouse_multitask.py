"""Predicts yield, disease and water need of greenhouse beds with one trunk, learned task weights and gradient surgery.

TRUTH: correct. Each task's gradient on the trunk is taken by autograd.grad with retain_graph=True (the trunk's graph is
needed for every task), conflicting gradients are projected against a fixed copy of the others, and the result is
written to p.grad by hand; the heads and the log-variances get their gradients by one ordinary backward with inputs=
restricted to them. Two optimisers step after all gradients exist; the log-variances are in the second one.
"""
import argparse
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

TASKS = ["yield", "disease", "water"]


def beds(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    growth = torch.sin(x[:, 0] * 1.5) + x[:, 1] * x[:, 2]
    sick = (x[:, 3] + x[:, 0] * x[:, 4] - 0.5 * growth > 0).float()
    water = 30 * torch.relu(x[:, 5] + 0.5 * growth) + 2 * torch.randn(n, generator=g)
    return x, {"yield": growth + 0.1 * torch.randn(n, generator=g), "disease": sick, "water": water / 10}


class BedNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.heads = nn.ModuleDict({t: nn.Sequential(nn.Linear(hidden, 32), nn.SiLU(), nn.Linear(32, 1)) for t in TASKS})
        self.log_var = nn.ParameterDict({t: nn.Parameter(torch.zeros(())) for t in TASKS})

    def forward(self, x):
        h = self.trunk(x)
        return {t: head(h).squeeze(-1) for t, head in self.heads.items()}

    def weighted(self, out, y):
        raw = {"yield": F.mse_loss(out["yield"], y["yield"]), "water": F.huber_loss(out["water"], y["water"]),
               "disease": F.binary_cross_entropy_with_logits(out["disease"], y["disease"])}
        return raw, [raw[t] * torch.exp(-self.log_var[t]) + 0.5 * self.log_var[t] for t in TASKS]


def project(grads):
    """Removes from each task's gradient the part that opposes another task's gradient."""
    fixed = [g.clone() for g in grads]
    clashes = 0
    for i, g in enumerate(grads):
        others = [j for j in range(len(grads)) if j != i]
        random.shuffle(others)
        for j in others:
            dot = g @ fixed[j]
            if dot < 0:
                g -= dot / (fixed[j] @ fixed[j] + 1e-12) * fixed[j]
                clashes += 1
    return torch.stack(grads).sum(0), clashes


def step(model, x, y, opt_trunk, opt_heads):
    trunk = list(model.trunk.parameters())
    own = [p for n, p in model.named_parameters() if not n.startswith("trunk")]
    raw, losses = model.weighted(model(x), y)
    per_task = []
    for loss in losses:
        grads = torch.autograd.grad(loss, trunk, retain_graph=True)
        per_task.append(torch.cat([g.flatten() for g in grads]))
    merged, clashes = project(per_task)
    opt_heads.zero_grad()
    sum(losses).backward(inputs=own)
    at = 0
    for p in trunk:
        p.grad = merged[at:at + p.numel()].view_as(p).clone()
        at += p.numel()
    opt_trunk.step()
    opt_heads.step()
    return {t: raw[t].item() for t in TASKS}, clashes


@torch.no_grad()
def evaluate(model, x, y):
    out = model(x)
    r2 = {t: (1 - (out[t] - y[t]).pow(2).mean() / y[t].var()).item() for t in ("yield", "water")}
    return r2 | {"disease": ((out["disease"] > 0) == (y["disease"] > 0.5)).float().mean().item()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=16)
    ap.add_argument("--batch", type=int, default=64)
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    (x, y), (vx, vy) = beds(4000, 1), beds(1000, 2)
    model = BedNet()
    opt_trunk = torch.optim.Adam(model.trunk.parameters(), lr=2e-3)
    opt_heads = torch.optim.Adam([{"params": model.heads.parameters(), "lr": 2e-3},
                                  {"params": model.log_var.parameters(), "lr": 1e-2}])
    for epoch in range(args.epochs):
        count = 0
        for idx in torch.randperm(len(x)).split(args.batch):
            raw, clashes = step(model, x[idx], {t: v[idx] for t, v in y.items()}, opt_trunk, opt_heads)
            count += clashes
        if epoch % 3 == 0 or epoch == args.epochs - 1:
            scores = " ".join(f"{k} {v:.3f}" for k, v in evaluate(model, vx, vy).items())
            sig = " ".join(f"{v.item():.2f}" for v in model.log_var.values())
            print(f"epoch {epoch} last losses {sum(raw.values()):.3f} clashes {count} log var {sig} | {scores}")


if __name__ == "__main__":
    main()
