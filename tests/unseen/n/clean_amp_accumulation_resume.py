"""RIGHT. Autocast, loss scaling, accumulation with an odd last window, a scheduler per optimizer step and a resume in the middle that continues exactly.
TRUTH: every window is divided by its own length, gradients are unscaled once before clipping, the scheduler moves only after a step; model, optimizer, scheduler, scaler and the position are all restored and the data order is a function of the epoch.
"""
import io

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

ACCUM, BATCHES, EPOCHS, BATCH = 4, 10, 4, 16


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4))

    def forward(self, x):
        return self.net(x)


def epoch_batches(epoch):
    g = torch.Generator().manual_seed(77 + epoch)
    for _ in range(BATCHES):
        x = torch.randn(BATCH, 8, generator=g)
        yield x, x[:, :4].argmax(1)


def param_groups(model):
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}]


class Run:
    def __init__(self):
        self.model = MLP()
        self.opt = torch.optim.AdamW(param_groups(self.model), lr=1e-2)
        steps = EPOCHS * -(-BATCHES // ACCUM)
        self.sched = torch.optim.lr_scheduler.OneCycleLR(self.opt, max_lr=2e-2, total_steps=steps)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
        self.epoch = 0

    def train_epoch(self):
        losses = []
        self.opt.zero_grad(set_to_none=True)
        for i, (x, y) in enumerate(epoch_batches(self.epoch)):
            first = i - i % ACCUM
            window = min(ACCUM, BATCHES - first)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = self.model(x)
            loss = F.cross_entropy(logits.float(), y)
            self.scaler.scale(loss / window).backward()
            losses.append(loss.item())
            if i + 1 == first + window:
                self.scaler.unscale_(self.opt)
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                scale = self.scaler.get_scale()
                self.scaler.step(self.opt)
                self.scaler.update()
                self.opt.zero_grad(set_to_none=True)
                if self.scaler.get_scale() >= scale:
                    self.sched.step()
        self.epoch += 1
        return sum(losses) / len(losses)

    def save(self):
        buf = io.BytesIO()
        torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(),
                    "sched": self.sched.state_dict(), "scaler": self.scaler.state_dict(),
                    "epoch": self.epoch}, buf)
        return buf.getvalue()

    @classmethod
    def load(cls, blob):
        ckpt = torch.load(io.BytesIO(blob))
        run = cls()
        run.model.load_state_dict(ckpt["model"])
        run.opt.load_state_dict(ckpt["opt"])
        run.sched.load_state_dict(ckpt["sched"])
        run.scaler.load_state_dict(ckpt["scaler"])
        run.epoch = ckpt["epoch"]
        return run


def main():
    run = Run()
    blob = None
    while run.epoch < EPOCHS:
        print(f"epoch {run.epoch} loss {run.train_epoch():.4f} lr {run.sched.get_last_lr()[0]:.5f}")
        if run.epoch == 2:
            blob = run.save()
    other = Run.load(blob)
    while other.epoch < EPOCHS:
        print(f"resumed epoch {other.epoch} loss {other.train_epoch():.4f} lr {other.sched.get_last_lr()[0]:.5f}")
    gap = max((a - b).abs().max().item() for a, b in zip(run.model.parameters(), other.model.parameters()))
    print(f"weight difference {gap:.1e}")


if __name__ == "__main__":
    main()
