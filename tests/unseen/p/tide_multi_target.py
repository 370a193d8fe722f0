"""TiDE-like dense encoder-decoder which forecasts several target series from their past and known covariates.

TRUTH: in the code path for several targets every prediction goes through .clone().detach().
requires_grad_(True): detach cuts it from the network and requires_grad_ only makes it a new leaf, so
loss.backward() runs without complaint and fills the .grad of those leaves, but no parameter of the model
gets a gradient. Symptom: p.grad is None for all parameters, the optimizer changes nothing, train and
validation loss stay the same from epoch to epoch (up to batch noise). Fix: drop the detach, e.g.
`prediction = [p.clone() for p in prediction]`.
Drawn from sktime/pytorch-forecasting#2208.
"""
from dataclasses import dataclass, field

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class TiDEConfig:
    context: int = 24
    horizon: int = 8
    n_covariates: int = 2
    hidden: int = 48
    n_layers: int = 2
    dropout: float = 0.05
    targets: list = field(default_factory=lambda: ["load", "price"])


class ResidualBlock(nn.Module):
    def __init__(self, d_in, d_hidden, d_out, dropout):
        super().__init__()
        self.dense = nn.Sequential(nn.Linear(d_in, d_hidden), nn.ReLU(), nn.Linear(d_hidden, d_out),
                                   nn.Dropout(dropout))
        self.skip = nn.Linear(d_in, d_out)
        self.norm = nn.LayerNorm(d_out)

    def forward(self, x):
        return self.norm(self.dense(x) + self.skip(x))


class TiDE(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.n_targets = len(cfg.targets)
        d_in = cfg.context * self.n_targets + (cfg.context + cfg.horizon) * cfg.n_covariates
        layers = [ResidualBlock(d_in if i == 0 else cfg.hidden, cfg.hidden, cfg.hidden, cfg.dropout)
                  for i in range(cfg.n_layers)]
        self.encoder = nn.Sequential(*layers)
        self.decoder = nn.Linear(cfg.hidden, cfg.horizon * self.n_targets)
        self.lookback_skip = nn.Linear(cfg.context, cfg.horizon)

    def transform_output(self, prediction, target_scale):
        """Put the network's output back on the scale of the data; one tensor per target."""
        if isinstance(prediction, list):
            return [p * s[:, 1:2] + s[:, 0:1] for p, s in zip(prediction, target_scale)]
        return prediction * target_scale[:, 1:2] + target_scale[:, 0:1]

    def forward(self, x):
        past, cov, scale = x["past"], x["covariates"], x["target_scale"]
        flat = torch.cat([past.flatten(1), cov.flatten(1)], dim=1)
        out = self.decoder(self.encoder(flat)).view(-1, self.cfg.horizon, self.n_targets)
        prediction = out + self.lookback_skip(past.transpose(1, 2)).transpose(1, 2)
        if self.n_targets > 1:
            prediction = [prediction[..., i] for i in range(self.n_targets)]
            prediction = [p.clone().detach().requires_grad_(True) for p in prediction]  # CULPRIT
            return self.transform_output(prediction, scale)
        return self.transform_output(prediction[..., 0], scale[0])


class GridData(Dataset):
    def __init__(self, cfg, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.cfg = cfg
        t = torch.arange(n + cfg.context + cfg.horizon).float()
        daily, weekly = torch.sin(t * 6.2832 / 24), torch.cos(t * 6.2832 / 168)
        temp = 0.6 * torch.sin(t * 6.2832 / 50 + 1)
        load = 50 + 10 * daily + 5 * weekly + 6 * temp + torch.randn(len(t), generator=g)
        price = 20 + 4 * daily.roll(3) - 3 * temp + 0.7 * torch.randn(len(t), generator=g)
        self.series = torch.stack([load, price], dim=-1)
        self.cov = torch.stack([daily, temp], dim=-1)
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        c, h = self.cfg.context, self.cfg.horizon
        past, future = self.series[i:i + c], self.series[i + c:i + c + h]
        mean, std = past.mean(0), past.std(0) + 1e-3
        return {"past": (past - mean) / std, "covariates": self.cov[i:i + c + h],
                "center": mean, "scale": std}, future


def to_x(batch):
    scale = [torch.stack([batch["center"][:, i], batch["scale"][:, i]], dim=1) for i in range(batch["scale"].size(1))]
    return {"past": batch["past"], "covariates": batch["covariates"], "target_scale": scale}


def multi_loss(prediction, target, weights=(1.0, 2.0)):
    return sum(w * (p - target[..., i]).abs().mean() for i, (p, w) in enumerate(zip(prediction, weights)))


def main():
    torch.manual_seed(21)
    cfg = TiDEConfig()
    train = DataLoader(GridData(cfg, 1500, 0), batch_size=64, shuffle=True)
    val = DataLoader(GridData(cfg, 300, 1), batch_size=100)
    model = TiDE(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=2)
    for epoch in range(8):
        model.train()
        tot = 0.0
        for batch, target in train:
            loss = multi_loss(model(to_x(batch)), target)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            tot += loss.item()
        model.eval()
        with torch.no_grad():
            v = sum(multi_loss(model(to_x(b)), t).item() for b, t in val) / len(val)
        sched.step(v)
        print(f"epoch {epoch}: train MAE {tot / len(train):.4f} val MAE {v:.4f} lr {opt.param_groups[0]['lr']:.1e}")


if __name__ == "__main__":
    main()
