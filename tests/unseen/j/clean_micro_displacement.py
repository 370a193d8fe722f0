# kind: half_precision_underflow
"""Mixed precision training of a displacement estimator for 1-d speckle signals."""
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class Options:
    size: int = 64
    batch: int = 64
    steps: int = 120
    lr: float = 2e-3
    millimetre: float = 1e-3
    amp_dtype: torch.dtype = torch.float16
    loss_scaling: bool = True


def speckle_pair(opts, gen):
    """A signal, its deformed version and the displacement in metres."""
    t = torch.linspace(-1, 1, opts.size)
    slope = torch.randn(opts.batch, 1, generator=gen)
    offset = torch.randn(opts.batch, 1, generator=gen)
    field = slope * t + offset
    reference = torch.sin(9 * t) + 0.1 * torch.randn(opts.batch, opts.size, generator=gen)
    deformed = reference + 0.5 * field
    return torch.cat([reference, deformed], dim=1), field * opts.millimetre


class FieldNet(nn.Module):
    def __init__(self, size, unit, width=64):
        super().__init__()
        self.unit = unit
        self.net = nn.Sequential(nn.Linear(2 * size, width), nn.GELU(),
                                 nn.Linear(width, width), nn.GELU(), nn.Linear(width, size))

    def forward(self, pair):
        """Displacement in metres; the layers work in millimetres."""
        return self.net(pair).float() * self.unit


class AmpTrainer:
    def __init__(self, model, opts):
        self.model, self.opts = model, opts
        self.opt = torch.optim.Adam(model.parameters(), lr=opts.lr, eps=1e-12)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 24, enabled=opts.loss_scaling)

    def step(self, pair, field):
        self.opt.zero_grad()
        with torch.autocast("cpu", dtype=self.opts.amp_dtype):
            loss = F.mse_loss(self.model(pair), field)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss.item() / field.pow(2).mean().item()

    def zero_share(self):
        grads = torch.cat([p.grad.flatten() for p in self.model.parameters()])
        return (grads == 0).float().mean().item()


def main():
    torch.manual_seed(0)
    opts = Options()
    gen = torch.Generator().manual_seed(1)
    trainer = AmpTrainer(FieldNet(opts.size, opts.millimetre), opts)
    for step in range(opts.steps):
        relative = trainer.step(*speckle_pair(opts, gen))
        if step % 20 == 0 or step == opts.steps - 1:
            print(f"step {step:3d} relative error {relative:.4f} zero gradients {trainer.zero_share():.2f}")


if __name__ == "__main__":
    main()
