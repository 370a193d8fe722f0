"""Predict tomorrow's greenhouse humidity with a two-speed recurrent cell over concatenated seasons.

TRUTH: `masked_fill_` through `.data` overwrites tanh outputs that autograd saved, so at season boundaries the backward pass uses 0 for them and also lets gradient flow across the reset; silently wrong gradients (seen by comparing with the out-of-place version: no error, other gradients, worse loss); rebind the state to an out-of-place masked_fill.
"""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    hidden: int = 16
    days: int = 40
    rows: int = 32
    steps: int = 80
    lr: float = 5e-3
    seed: int = 3


def make_batch(cfg, gen):
    temp = torch.randn(cfg.rows, cfg.days, 2, generator=gen).cumsum(1) * 0.3
    start = torch.rand(cfg.rows, cfg.days, generator=gen) < 0.15
    hum = torch.zeros(cfg.rows, cfg.days)
    level = torch.zeros(cfg.rows)
    for d in range(cfg.days):
        level = torch.where(start[:, d], 0.0, level)
        level = 0.8 * level + 0.3 * torch.sin(temp[:, d, 0]) - 0.1 * temp[:, d, 1].tanh()
        hum[:, d] = level
    return temp, start, hum


def reset(state, rows):
    """Forget everything about the rows in which a new season begins."""
    for name, value in state.items():
        value.data.masked_fill_(rows[:, None], 0.0)  # CULPRIT
    return state


class TwoSpeedCell(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.fast = nn.Linear(2 + cfg.hidden, cfg.hidden)
        self.slow = nn.Linear(2 * cfg.hidden, cfg.hidden)
        self.out = nn.Linear(2 * cfg.hidden, 1)
        self.hidden = cfg.hidden

    def forward(self, temp, start):
        state = {k: temp.new_zeros(len(temp), self.hidden) for k in ("fast", "slow")}
        preds = []
        for d in range(temp.shape[1]):
            state = reset(state, start[:, d])
            fast = torch.tanh(self.fast(torch.cat([temp[:, d], state["fast"]], 1)))
            slow = torch.tanh(self.slow(torch.cat([fast, state["slow"]], 1)))
            state = {"fast": fast, "slow": slow}
            preds.append(self.out(torch.cat([fast, slow], 1)).squeeze(1))
        return torch.stack(preds, 1)


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    gen = torch.Generator().manual_seed(cfg.seed)
    model = TwoSpeedCell(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        temp, start, hum = make_batch(cfg, gen)
        loss = nn.functional.mse_loss(model(temp, start), hum)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0 or step == cfg.steps - 1:
            print(f"step {step:3d} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
