"""RIGHT. LoRA on a frozen, briefly pretrained sequence tagger, merged into the base weight and unmerged again.
TRUTH: B is zero and A random, so B gets a gradient at once and A from the second step; the base is frozen on purpose; the merge writes
into .weight under no_grad outside of any graph; the optimizer holds the adapters only.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8.0):
        super().__init__()
        self.base = base
        self.scaling = alpha / r
        self.A = nn.Parameter(torch.empty(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.merged = False

    def delta(self):
        return self.scaling * (self.B @ self.A)

    @torch.no_grad()
    def merge(self):
        if not self.merged:
            self.base.weight += self.delta()
            self.merged = True

    @torch.no_grad()
    def unmerge(self):
        if self.merged:
            self.base.weight -= self.delta()
            self.merged = False

    def forward(self, x):
        y = self.base(x)
        if self.merged:
            return y
        return y + self.scaling * F.linear(F.linear(x, self.A), self.B)


class Tagger(nn.Module):
    def __init__(self, vocab, dim, tags):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.1 * torch.randn(16, dim))
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, tags)

    def forward(self, ids):
        h = self.emb(ids) + self.pos[:ids.size(1)]
        y = F.scaled_dot_product_attention(self.q(h), self.k(h), self.v(h))
        return self.out(self.norm(h + y))


def inject(model, names, r):
    for p in model.parameters():
        p.requires_grad_(False)
    layers = []
    for name in names:
        layer = LoRALinear(getattr(model, name), r)
        setattr(model, name, layer)
        layers.append(layer)
    return layers


def batch(vocab, tags, shift, n=32, length=12):
    ids = torch.randint(0, vocab, (n, length))
    left = F.pad(ids, (1, 0))[:, :-1]
    return ids, (left + shift) % tags


def run(model, opt, steps, shift, cfg):
    model.train()
    for step in range(steps):
        ids, y = batch(cfg["vocab"], cfg["tags"], shift)
        loss = F.cross_entropy(model(ids).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if (step + 1) % 40 == 0:
            print(f"  shift {shift} step {step + 1} loss {loss.item():.3f}")


def main():
    torch.manual_seed(0)
    cfg = {"vocab": 8, "tags": 4, "dim": 48}
    model = Tagger(cfg["vocab"], cfg["dim"], cfg["tags"])
    run(model, torch.optim.Adam(model.parameters(), lr=5e-3), 160, 1, cfg)

    layers = inject(model, ["q", "k", "v", "out"], r=8)
    frozen = {n: p.detach().clone() for n, p in model.named_parameters() if not p.requires_grad}
    params = [p for p in model.parameters() if p.requires_grad]
    assert len(params) == 2 * len(layers)
    run(model, torch.optim.AdamW(params, lr=2e-2, weight_decay=0.0), 120, 3, cfg)

    model.eval()
    ids, y = batch(cfg["vocab"], cfg["tags"], 3, n=256)
    with torch.no_grad():
        plain = model(ids)
        for layer in layers:
            layer.merge()
        merged = model(ids)
        for layer in layers:
            layer.unmerge()
    gap = (plain - merged).abs().max().item()
    moved = max((p - frozen[n]).abs().max().item() for n, p in model.named_parameters() if n in frozen)
    acc = (plain.argmax(-1) == y).float().mean().item()
    print(f"accuracy {acc:.3f} merged differs by {gap:.1e} base moved by {moved:.1e}")


if __name__ == "__main__":
    main()
