"""RIGHT. Multi-task training with projected conflicting gradients: one forward pass, a gradient per task from a retained graph, projection and writing into .grad by hand; heads get their own gradients.
TRUTH: the graph is retained for all but the last task and no weight changes in between; heads that a task does not use give None under allow_unused and count as zero; .grad is overwritten with new tensors in every step, so nothing accumulates; projections use the other tasks' original gradients.
"""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiTaskNet(nn.Module):
    def __init__(self, n_in, hidden, tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.heads = nn.ModuleDict({t: nn.Linear(hidden, 1) for t in tasks})

    def forward(self, x):
        h = self.trunk(x)
        return {t: head(h).squeeze(-1) for t, head in self.heads.items()}


class PCGrad:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.params = [p for g in optimizer.param_groups for p in g["params"]]
        self.conflicts = 0

    def task_gradients(self, losses):
        flat = []
        for i, loss in enumerate(losses):
            grads = torch.autograd.grad(loss, self.params, retain_graph=i + 1 < len(losses), allow_unused=True)
            grads = [torch.zeros_like(p) if g is None else g for p, g in zip(self.params, grads)]
            flat.append(torch.cat([g.reshape(-1) for g in grads]))
        return flat

    def project(self, flat):
        merged = torch.zeros_like(flat[0])
        for i, g in enumerate(flat):
            g = g.clone()
            others = [j for j in range(len(flat)) if j != i]
            random.shuffle(others)
            for j in others:
                dot = torch.dot(g, flat[j])
                if dot < 0:
                    self.conflicts += 1
                    g -= dot / flat[j].pow(2).sum() * flat[j]
            merged += g
        return merged

    def step(self, losses):
        merged = self.project(self.task_gradients(losses))
        offset = 0
        for p in self.params:
            n = p.numel()
            p.grad = merged[offset:offset + n].view_as(p).clone()
            offset += n
        self.optimizer.step()


def make_data(n):
    x = torch.rand(n, 3) * 2 - 1
    y = {
        "sum": x.sum(dim=1),
        "product": 2 * x[:, 0] * x[:, 1],
        "negated": -x.sum(dim=1) + 0.5 * x[:, 2].pow(2),
    }
    return x, y


def losses_of(model, x, y):
    out = model(x)
    return {t: F.mse_loss(out[t], y[t]) for t in y}


def main():
    torch.manual_seed(0)
    random.seed(0)
    x, y = make_data(256)
    xv, yv = make_data(128)
    model = MultiTaskNet(3, 32, list(y))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    surgery = PCGrad(optimizer)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.3, total_iters=150)
    for it in range(150):
        idx = torch.randint(0, 256, (64,))
        losses = losses_of(model, x[idx], {t: v[idx] for t, v in y.items()})
        surgery.step(list(losses.values()))
        scheduler.step()
        if it % 50 == 0:
            print(it, {t: round(v.item(), 4) for t, v in losses.items()}, "conflicts", surgery.conflicts)
    with torch.no_grad():
        print("validation", {t: round(v.item(), 4) for t, v in losses_of(model, xv, yv).items()})


if __name__ == "__main__":
    main()
