"""WRONG. With bfloat16 mixed precision the gradients silently accumulate over the steps.
TRUTH: opt.zero_grad() is only called in the branch without bfloat16; call it in the mixed precision branch too.
THREAD: https://github.com/facebookresearch/nwm/issues/16
"""
from copy import deepcopy

import torch
import torch.nn as nn

torch.manual_seed(0)

LAT, ACT, HID = 12, 3, 96
bfloat_enable = True


def modulate(x, shift, scale):
    return x * (1 + scale) + shift


class CDiTBlock(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(hidden, elementwise_affine=False)
        self.mlp = nn.Sequential(nn.Linear(hidden, 2 * hidden), nn.GELU(), nn.Linear(2 * hidden, hidden))
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(hidden, 3 * hidden))
        nn.init.zeros_(self.adaLN_modulation[-1].weight)
        nn.init.zeros_(self.adaLN_modulation[-1].bias)

    def forward(self, x, c):
        shift, scale, gate = self.adaLN_modulation(c).chunk(3, dim=1)
        return x + gate * self.mlp(modulate(self.norm(x), shift, scale))


class CDiT(nn.Module):
    """predicts the noise of the next latent from the current latent and the action"""

    def __init__(self, depth=2):
        super().__init__()
        self.x_in = nn.Linear(LAT, HID)
        self.cond = nn.Linear(LAT + ACT + 1, HID)
        self.blocks = nn.ModuleList([CDiTBlock(HID) for _ in range(depth)])
        self.out = nn.Linear(HID, LAT)

    def forward(self, x, t, y, a):
        c = self.cond(torch.cat([y, a, t[:, None].float() / 50], 1))
        h = self.x_in(x)
        for block in self.blocks:
            h = block(h, c)
        return self.out(h)


betas = torch.linspace(1e-3, 0.15, 50)
alpha_bar = torch.cumprod(1 - betas, 0)


def training_losses(model, x_start, t, model_kwargs):
    noise = torch.randn_like(x_start)
    ab = alpha_bar[t][:, None]
    x_t = ab.sqrt() * x_start + (1 - ab).sqrt() * noise
    return {'loss': ((model(x_t, t, **model_kwargs).float() - noise) ** 2).mean(1)}


@torch.no_grad()
def update_ema(ema_model, model, decay=0.99):
    for e, p in zip(ema_model.parameters(), model.parameters()):
        e.mul_(decay).add_(p.data, alpha=1 - decay)


A = torch.linalg.qr(torch.randn(LAT, LAT))[0]
B = torch.randn(ACT, LAT)


def transitions(n):
    y = torch.randn(n, LAT)
    a = torch.randn(n, ACT)
    return torch.tanh(y @ A + a @ B), y, a


def train_step(model, opt, x, y, a):
    t = torch.randint(0, 50, (len(x),))
    if bfloat_enable:
        with torch.autocast('cpu', dtype=torch.bfloat16):
            loss_dict = training_losses(model, x, t, dict(y=y, a=a))
            loss = loss_dict['loss'].mean()
        loss.backward()  # CULPRIT
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        opt.step()
    else:
        loss = training_losses(model, x, t, dict(y=y, a=a))['loss'].mean()
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        opt.step()
    return loss.item()


model = CDiT()
ema = deepcopy(model)
for p in ema.parameters():
    p.requires_grad_(False)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0)

running_loss = 0.0
for train_steps in range(1, 401):
    running_loss += train_step(model, opt, *transitions(128))
    update_ema(ema, model)
    if train_steps % 100 == 0:
        print('(step=%07d) Train Loss: %.4f' % (train_steps, running_loss / 100))
        running_loss = 0.0
