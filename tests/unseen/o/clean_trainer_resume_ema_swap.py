"""Small trainer: bf16 autocast on CPU, EMA weights swapped in for validation, checkpoint and resume in the middle of the run.

TRUTH: correct: parameters stay fp32 and only the forward runs in bf16; validation swaps the EMA values into the parameters by copy_ and
swaps them back, so the optimizer keeps its tensors; the resumed trainer is new and loads model, optimizer, scheduler and EMA
state, the loss goes on where it stopped; the best state is cloned. Cosine schedule per step, by intention.
"""
import contextlib
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class SeriesClassifier(nn.Module):
    def __init__(self, channels=3, hid=32, classes=4):
        super().__init__()
        self.conv = nn.Conv1d(channels, hid, 5, padding=2)
        self.norm = nn.LayerNorm(hid)
        self.conv2 = nn.Conv1d(hid, hid, 5, padding=2)
        self.head = nn.Linear(hid, classes)

    def forward(self, x):
        h = F.gelu(self.conv(x))
        h = self.norm(h.transpose(1, 2)).transpose(1, 2)
        h = F.gelu(self.conv2(h)) + h
        return self.head(h.mean(-1))


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].lerp_(p, 1 - self.decay)

    @contextlib.contextmanager
    def average_parameters(self, model):
        backup = {n: p.detach().clone() for n, p in model.named_parameters()}
        with torch.no_grad():
            for n, p in model.named_parameters():
                p.copy_(self.shadow[n])
        try:
            yield
        finally:
            with torch.no_grad():
                for n, p in model.named_parameters():
                    p.copy_(backup[n])


class Trainer:
    def __init__(self, cfg):
        torch.manual_seed(cfg["seed"])
        self.cfg = cfg
        self.model = SeriesClassifier()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg["lr"])
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=cfg["steps"])
        self.ema = EMA(self.model, cfg["ema"])
        self.step, self.best, self.best_state = 0, 0.0, None

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(), "sched": self.sched.state_dict(),
                    "ema": self.ema.shadow, "step": self.step, "best": self.best}, path)

    def load(self, path):
        ck = torch.load(path, weights_only=True)
        self.model.load_state_dict(ck["model"])
        self.opt.load_state_dict(ck["opt"])
        self.sched.load_state_dict(ck["sched"])
        self.ema.shadow = ck["ema"]
        self.step, self.best = ck["step"], ck["best"]

    def train(self, data, until):
        x, y = data
        self.model.train()
        last = []
        while self.step < until:
            g = torch.Generator().manual_seed(1000 + self.step)
            idx = torch.randint(0, len(x), (self.cfg["batch"],), generator=g)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = self.model(x[idx])
            loss = F.cross_entropy(logits.float(), y[idx], label_smoothing=0.05)
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            self.sched.step()
            self.ema.update(self.model)
            self.step += 1
            last.append(loss.item())
        return sum(last[-20:]) / len(last[-20:])

    @torch.no_grad()
    def validate(self, data):
        self.model.eval()
        with self.ema.average_parameters(self.model):
            acc = (self.model(data[0]).argmax(1) == data[1]).float().mean().item()
            if acc > self.best:
                self.best, self.best_state = acc, {k: v.clone() for k, v in self.model.state_dict().items()}
        return acc


def make_series(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    t = torch.arange(32).float()
    freq = torch.tensor([0.3, 0.5, 0.7, 0.9])[y].view(-1, 1, 1)
    phase = 6.28 * torch.rand(n, 3, 1, generator=g)
    return torch.sin(freq * t + phase) + 0.7 * torch.randn(n, 3, 32, generator=g), y


def main():
    cfg = {"seed": 0, "lr": 3e-3, "steps": 240, "batch": 32, "ema": 0.97}
    train, valid = make_series(800, 0), make_series(400, 1)
    trainer = Trainer(cfg)
    with tempfile.TemporaryDirectory() as tmp:
        for until in (60, 120):
            loss = trainer.train(train, until)
            print(f"step {trainer.step:3d} loss {loss:.4f} ema acc {trainer.validate(valid):.3f}")
        path = os.path.join(tmp, "last.pt")
        trainer.save(path)
        resumed = Trainer({**cfg, "seed": 77})
        resumed.load(path)
    for until in (180, 240):
        loss = resumed.train(train, until)
        print(f"step {resumed.step:3d} loss {loss:.4f} ema acc {resumed.validate(valid):.3f} lr {resumed.sched.get_last_lr()[0]:.5f}")
    if resumed.best_state is not None:
        resumed.model.load_state_dict(resumed.best_state)
    acc = (resumed.model(valid[0]).argmax(1) == valid[1]).float().mean().item()
    print(f"best {resumed.best:.3f} restored {acc:.3f}")


if __name__ == "__main__":
    main()
