"""Trainer class with gradient clipping, cosine schedule and EMA weights for a small regression network.

TRUTH: the EMA update moves the shadow weights the wrong way: gap = shadow - param is added (times
1 - decay) where it must be subtracted, so shadow <- shadow + (1 - decay) * (shadow - param), which
multiplies the distance to the live weights by about 1.01 each step (decay 0.99). Symptom: the live loss
falls normally while the shadow weights run away from the live ones exponentially and the loss of the EMA
weights rises without bound. Fix: `shadow.sub_(gap * one_minus_decay)`.
Drawn from ostris/ai-toolkit#1034.
"""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn


class ExponentialMovingAverage:
    def __init__(self, parameters, decay=0.99, use_num_updates=False):
        self.decay = decay
        self.num_updates = 0 if use_num_updates else None
        self.shadow_params = [p.detach().clone().float() for p in parameters]
        self.collected = None

    def get_decay(self):
        if self.num_updates is None:
            return self.decay
        self.num_updates += 1
        return min(self.decay, (1 + self.num_updates) / (10 + self.num_updates))

    @torch.no_grad()
    def update(self, parameters):
        one_minus_decay = 1.0 - self.get_decay()
        for shadow, param in zip(self.shadow_params, parameters):
            gap = shadow - param.float()
            shadow.add_(gap * one_minus_decay)  # CULPRIT

    @torch.no_grad()
    def store(self, parameters):
        self.collected = [p.clone() for p in parameters]

    @torch.no_grad()
    def copy_to(self, parameters):
        for shadow, param in zip(self.shadow_params, parameters):
            param.copy_(shadow)

    @torch.no_grad()
    def restore(self, parameters):
        for saved, param in zip(self.collected, parameters):
            param.copy_(saved)
        self.collected = None


@dataclass
class TrainConfig:
    steps: int = 300
    batch_size: int = 64
    lr: float = 5e-3
    warmup: int = 20
    ema_decay: float = 0.99
    max_grad_norm: float = 1.0
    log_every: int = 50
    seed: int = 123


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        self.model = nn.Sequential(nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, weight_decay=1e-4)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.lr_at)
        self.ema = ExponentialMovingAverage(list(self.model.parameters()), cfg.ema_decay)
        self.val = self.sample(512)

    def lr_at(self, step):
        if step < self.cfg.warmup:
            return (step + 1) / self.cfg.warmup
        t = (step - self.cfg.warmup) / (self.cfg.steps - self.cfg.warmup)
        return 0.5 * (1 + math.cos(math.pi * min(t, 1.0)))

    @staticmethod
    def sample(n):
        x = torch.randn(n, 6)
        y = torch.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3] - 0.5 * x[:, 3:4].abs()
        return x, y + 0.05 * torch.randn(n, 1)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        x, y = self.val
        loss = nn.functional.mse_loss(self.model(x), y).item()
        self.model.train()
        return loss

    def validate_ema(self):
        params = list(self.model.parameters())
        self.ema.store(params)
        self.ema.copy_to(params)
        loss = self.validate()
        self.ema.restore(params)
        return loss

    def fit(self):
        for step in range(1, self.cfg.steps + 1):
            x, y = self.sample(self.cfg.batch_size)
            loss = nn.functional.mse_loss(self.model(x), y)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_grad_norm)
            self.optimizer.step()
            self.scheduler.step()
            self.ema.update(self.model.parameters())
            if step % self.cfg.log_every == 0:
                print(f"step {step:4d} lr {self.scheduler.get_last_lr()[0]:.2e} train {loss.item():.4f} "
                      f"val {self.validate():.4f} val_ema {self.validate_ema():.4g}")


if __name__ == "__main__":
    Trainer(TrainConfig()).fit()
