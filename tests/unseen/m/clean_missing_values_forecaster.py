"""RIGHT. Forecasting with missing observations, empty histories and targets that are NaN.
TRUTH: NaNs are replaced before any arithmetic, so no NaN enters a graph; a learned null slot keeps every attention row non-empty; the mask
is a constant and the loss divides by the number of observed targets, never by zero; in-place fills act on fresh tensors without a graph.
"""
import math

import torch
import torch.nn as nn


class MaskedAttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.null_key = nn.Parameter(0.1 * torch.randn(dim))
        self.null_value = nn.Parameter(torch.zeros(dim))
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)

    def forward(self, q, h, observed):
        b = h.size(0)
        k = torch.cat([self.null_key.expand(b, 1, -1), self.key(h)], dim=1)
        v = torch.cat([self.null_value.expand(b, 1, -1), self.value(h)], dim=1)
        keep = torch.cat([observed.new_ones(b, 1), observed], dim=1)
        scores = (self.query(q) @ k.transpose(1, 2)) / math.sqrt(k.size(-1))
        scores = scores.masked_fill(~keep[:, None, :], float("-inf"))
        return torch.softmax(scores, dim=-1) @ v


class Forecaster(nn.Module):
    def __init__(self, horizon, dim=32, past=24):
        super().__init__()
        self.inp = nn.Linear(1, dim)
        self.pos = nn.Parameter(0.3 * torch.randn(past, dim))
        self.horizon_query = nn.Parameter(0.3 * torch.randn(horizon, dim))
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.pool = MaskedAttentionPool(dim)
        self.out = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, 1))

    def forward(self, past):
        observed = ~torch.isnan(past)
        clean = past.clone()
        clean[~observed] = 0.0
        count = observed.sum(1, keepdim=True).clamp(min=1)
        level = clean.sum(1, keepdim=True) / count
        x = torch.where(observed, clean - level, torch.zeros_like(clean))
        h = self.inp(x.unsqueeze(-1)) + self.pos
        h = h + self.ff(h)
        q = self.horizon_query.expand(past.size(0), -1, -1)
        pooled = self.pool(q, h, observed)
        return level + self.out(pooled).squeeze(-1)


def masked_huber(pred, target, delta=1.0):
    mask = ~torch.isnan(target)
    safe = torch.where(mask, target, pred.detach())
    err = (pred - safe).abs()
    loss = torch.where(err <= delta, 0.5 * err.square(), delta * (err - 0.5 * delta))
    return (loss * mask).sum() / mask.sum().clamp(min=1)


def sample(batch, past, horizon):
    t = torch.arange(past + horizon).float()
    phase = torch.randint(0, 8, (batch, 1)).float()
    y = 2 * torch.rand(batch, 1) + torch.sin(2 * math.pi * (t + phase) / 8) + 0.05 * torch.randn(batch, past + horizon)
    hist, fut = y[:, :past].clone(), y[:, past:].clone()
    hist[torch.rand_like(hist) < 0.3] = float("nan")
    hist[torch.rand(batch) < 0.05] = float("nan")
    fut[torch.rand_like(fut) < 0.2] = float("nan")
    return hist, fut


def main():
    torch.manual_seed(0)
    past, horizon = 24, 6
    model = Forecaster(horizon, past=past)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 250)
    valid = sample(512, past, horizon)
    for step in range(250):
        hist, fut = sample(64, past, horizon)
        loss = masked_huber(model(hist), fut)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        opt.step()
        sched.step()
        if step % 50 == 49:
            model.eval()
            with torch.no_grad():
                print(f"step {step + 1} train {loss.item():.4f} valid {masked_huber(model(valid[0]), valid[1]).item():.4f}")
            model.train()


if __name__ == "__main__":
    main()
