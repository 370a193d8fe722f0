"""RIGHT. EMA whose weights are exchanged with the live ones for validation by swapping the .data of the parameters.
TRUTH: the swap exchanges storages without copying and is undone in finally, so the Parameter objects (and the optimizer state that hangs on them) stay; the shadow tensors are clones made once; updates run under no_grad and in place on the shadow only.
"""
from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ExponentialMovingAverage:
    def __init__(self, parameters, decay):
        self.params = list(parameters)
        self.decay = decay
        self.num_updates = 0
        self.shadow = [p.detach().clone() for p in self.params]

    @torch.no_grad()
    def update(self):
        self.num_updates += 1
        decay = min(self.decay, (1 + self.num_updates) / (10 + self.num_updates))
        for s, p in zip(self.shadow, self.params):
            s.lerp_(p, 1 - decay)

    def _swap(self):
        for i, p in enumerate(self.params):
            live = p.data
            p.data = self.shadow[i]
            self.shadow[i] = live

    @contextmanager
    def average_parameters(self):
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def state_dict(self):
        return {"decay": self.decay, "num_updates": self.num_updates,
                "shadow": [s.clone() for s in self.shadow]}


class Mlp(nn.Module):
    def __init__(self, dim=10, width=48):
        super().__init__()
        self.inp = nn.Linear(dim, width)
        self.norm = nn.LayerNorm(width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = F.gelu(self.norm(self.inp(x)))
        h = h + F.gelu(self.mid(h))
        return self.out(h).squeeze(-1)


def make_data(n):
    x = torch.randn(n, 10)
    y = torch.sin(x[:, 0]) * x[:, 1] + 0.5 * x[:, 2]
    return x, y + 0.1 * torch.randn(n)


@torch.no_grad()
def validate(model, x, y):
    model.eval()
    loss = F.mse_loss(model(x), y).item()
    model.train()
    return loss


def main():
    x, y = make_data(512)
    xv, yv = make_data(256)
    model = Mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    ema = ExponentialMovingAverage(model.parameters(), 0.97)
    for epoch in range(6):
        perm = torch.randperm(len(x))
        for idx in perm.split(64):
            loss = F.mse_loss(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update()
        live = [p.detach().clone() for p in model.parameters()]
        plain = validate(model, xv, yv)
        with ema.average_parameters():
            averaged = validate(model, xv, yv)
        same = all(torch.equal(a, b) for a, b in zip(live, model.parameters()))
        print(f"epoch {epoch} val {plain:.4f} val(ema) {averaged:.4f} restored {same}")
    print("saved updates:", ema.state_dict()["num_updates"])


if __name__ == "__main__":
    main()
