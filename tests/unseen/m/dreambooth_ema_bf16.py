"""WRONG. The fine-tuned network gets steadily better, but the EMA copy hardly leaves the loss of the pretrained network, no matter how long one trains.
TRUTH: the shadow weights are kept in bfloat16; one EMA step changes most weights by less than half a bfloat16 spacing and is rounded away, so the average stands still. Keep the shadow weights in float32.
THREAD: https://github.com/d8ahazard/sd_dreambooth_extension/pull/1417
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

args = {
    "weight_dtype": torch.bfloat16,
    "pretrain_steps": 150,
    "train_steps": 300,
    "lr": 2e-3,
    "ema_decay": 0.99,
    "batch": 64,
}


class TinyUNet(nn.Module):
    def __init__(self, dim=16, width=32):
        super().__init__()
        self.down = nn.Linear(dim, width)
        self.mid = nn.Linear(width, width)
        self.up = nn.Linear(width + dim, dim)

    def forward(self, x):
        h = F.silu(self.down(x))
        h = h + F.silu(self.mid(h))
        return self.up(torch.cat([h, x], dim=-1))


class EMAModel:
    def __init__(self, parameters, decay, dtype):
        self.decay = decay
        self.shadow_params = [p.detach().clone().to(dtype) for p in parameters]
        self.steps = 0

    @torch.no_grad()
    def step(self, parameters):
        self.steps += 1
        for s, p in zip(self.shadow_params, parameters):
            s.sub_((1 - self.decay) * (s - p.to(s.dtype)))

    @torch.no_grad()
    def copy_to(self, parameters):
        for s, p in zip(self.shadow_params, parameters):
            p.copy_(s.to(p.dtype))


class Task:
    def __init__(self, dim=16):
        self.mix = 0.4 * torch.randn(dim, dim)

    def shifted(self, eps):
        other = copy.copy(self)
        other.mix = self.mix * (1 + eps)
        return other

    def batch(self, n):
        x = torch.randn(n, self.mix.size(0))
        return x, x @ self.mix


def train_step(model, optimizer, task, dtype):
    x, y = task.batch(args["batch"])
    with torch.autocast("cpu", dtype=dtype):
        pred = model(x)
    loss = F.mse_loss(pred.float(), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def validate(model, data):
    x, y = data
    return F.mse_loss(model(x), y).item()


def main():
    base = Task()
    subject = base.shifted(0.12)
    val = subject.batch(512)

    unet = TinyUNet()
    optimizer = torch.optim.Adam(unet.parameters(), lr=1e-2)
    for _ in range(args["pretrain_steps"]):
        train_step(unet, optimizer, base, args["weight_dtype"])

    optimizer = torch.optim.Adam(unet.parameters(), lr=args["lr"])
    ema = EMAModel(unet.parameters(), args["ema_decay"], dtype=args["weight_dtype"])  # CULPRIT
    ema_unet = copy.deepcopy(unet)
    print(f"pretrained: val {validate(unet, val):.4f}")
    for step in range(args["train_steps"]):
        loss = train_step(unet, optimizer, subject, args["weight_dtype"])
        ema.step(unet.parameters())
        if step % 60 == 59:
            ema.copy_to(ema_unet.parameters())
            print(f"step {step} loss {loss:.4f} val {validate(unet, val):.4f} "
                  f"val(ema) {validate(ema_unet, val):.4f}")


if __name__ == "__main__":
    main()
