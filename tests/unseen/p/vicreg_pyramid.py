"""VICReg-style self-supervised pretraining of a 1-d conv encoder with losses at a global and several local levels.

TRUTH: inside the loop over the local levels the three terms are combined into local_loss by plain
assignment, so each level overwrites the one before; only the last level counts (and is even divided by
the number of levels). Symptom: the projectors of the earlier levels (local_proj.0, local_proj.1) never
get a gradient (grad is None), their weights stay at initial values and the invariance logged for those
levels does not improve. Fix: `local_loss = local_loss + ...` (+=).
Drawn from facebookresearch/VICRegL#6.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


def off_diagonal(m):
    n = m.shape[0]
    return m.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()


def variance(x, gamma=1.0):
    return F.relu(gamma - (x.var(0) + 1e-4).sqrt()).mean()


def covariance(x):
    x = x - x.mean(0)
    cov = (x.T @ x) / (len(x) - 1)
    return off_diagonal(cov).pow(2).sum() / x.shape[1]


def projector(din, dout=16):
    return nn.Sequential(nn.Linear(din, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, dout))


class Pyramid(nn.Module):
    """Three conv stages; every stage gives a local embedding and the last also the global one."""

    widths = (8, 16, 32)

    def __init__(self):
        super().__init__()
        chans = (1,) + self.widths
        self.stages = nn.ModuleList(
            nn.Sequential(nn.Conv1d(chans[i], chans[i + 1], 5, stride=2, padding=2),
                          nn.BatchNorm1d(chans[i + 1]), nn.ReLU())
            for i in range(3))
        self.global_proj = projector(self.widths[-1])
        self.local_proj = nn.ModuleList(projector(w) for w in self.widths)

    def forward(self, x):
        maps = []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        local = [proj(m.amax(dim=-1)) for proj, m in zip(self.local_proj, maps)]
        return self.global_proj(x.mean(-1)), local


class VICRegPyramid(nn.Module):
    def __init__(self, inv_coeff=25.0, var_coeff=25.0, cov_coeff=1.0, alpha=0.5):
        super().__init__()
        self.backbone = Pyramid()
        self.inv_coeff, self.var_coeff, self.cov_coeff, self.alpha = inv_coeff, var_coeff, cov_coeff, alpha

    def terms(self, a, b):
        inv = F.mse_loss(a, b)
        var = 0.5 * (variance(a) + variance(b))
        cov = covariance(a) + covariance(b)
        return inv, var, cov

    def local_loss(self, maps_1, maps_2, log):
        local_loss = torch.zeros(())
        for level, (a, b) in enumerate(zip(maps_1, maps_2)):
            inv, var, cov = self.terms(a, b)
            local_loss = self.inv_coeff * inv + self.var_coeff * var + self.cov_coeff * cov  # CULPRIT
            log[f"inv_l{level}"] = inv.item()
            log[f"var_l{level}"] = var.item()
        return local_loss / len(maps_1)

    def forward(self, view_1, view_2):
        log = {}
        g1, l1 = self.backbone(view_1)
        g2, l2 = self.backbone(view_2)
        inv, var, cov = self.terms(g1, g2)
        global_loss = self.inv_coeff * inv + self.var_coeff * var + self.cov_coeff * cov
        log["inv_g"], log["var_g"] = inv.item(), var.item()
        loss = self.alpha * global_loss + (1 - self.alpha) * self.local_loss(l1, l2, log)
        log["loss"] = loss.item()
        return loss, log


def signals(n):
    t = torch.linspace(0, 1, 64)
    freq = torch.randint(1, 9, (n, 1)).float()
    phase = torch.rand(n, 1) * 6.28
    return (torch.sin(6.28 * freq * t + phase) + 0.4 * torch.sin(12.56 * freq * t)).unsqueeze(1)


def augment(x):
    scale = 1 + 0.2 * torch.randn(len(x), 1, 1)
    shift = int(torch.randint(-6, 7, (1,)))
    return torch.roll(x, shift, dims=-1) * scale + 0.1 * torch.randn_like(x)


model = VICRegPyramid()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-6)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=200)

for step in range(200):
    x = signals(64)
    loss, log = model(augment(x), augment(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 25 == 0 or step == 199:
        print(f"step {step:3d} " + " ".join(f"{k}={v:.4f}" for k, v in sorted(log.items())))
