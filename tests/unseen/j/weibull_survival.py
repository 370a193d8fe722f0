# kind: zero_learning_rate
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Cfg:
    patients: int = 640
    batch_size: int = 32
    epochs: int = 8
    warmup: int = 2
    lr: float = 1e-2


def cohort(n):
    """Covariates, observed times and event flags with independent censoring."""
    x = torch.randn(n, 8)
    scale = torch.exp(0.8 * x[:, 0] - 0.6 * x[:, 1] + 0.3 * x[:, 2] * x[:, 3])
    event = scale * (-torch.log(torch.rand(n))).pow(1 / 1.5)
    censor = 3 * torch.rand(n)
    return TensorDataset(x, torch.minimum(event, censor).clamp_min(1e-3), (event <= censor).float())


class WeibullNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ELU(), nn.Linear(32, 2))

    def nll(self, x, time, event):
        log_scale, log_shape = self.body(x).clamp(-4, 4).unbind(-1)
        shape = log_shape.exp()
        z = time.log() - log_scale
        log_hazard = log_shape - time.log() + shape * z
        return ((shape * z).exp() - event * log_hazard).mean()


def linear_schedule(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return max(0.0, (total - step) / max(1, total - warmup))
    return LambdaLR(optimizer, factor)


def main(cfg):
    torch.manual_seed(0)
    loader = DataLoader(cohort(cfg.patients), batch_size=cfg.batch_size, shuffle=True)
    model = WeibullNet()
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    sched = linear_schedule(opt, cfg.warmup, cfg.epochs)  # CULPRIT
    for epoch in range(cfg.epochs):
        total = 0.0
        for x, time, event in loader:
            loss = model.nll(x, time, event)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            total += loss.item()
        print(f"epoch {epoch} nll {total / len(loader):.4f}")


main(Cfg())
