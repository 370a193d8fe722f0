# kind: parameter_in_two_groups
"""Char-level transformer for bracket depth, AdamW with selective weight decay."""
import torch
from torch import nn
import torch.nn.functional as F


def bracket_batch(n, length, gen):
    """Random brackets; the target is whether the depth at the position is positive."""
    tokens = torch.randint(0, 2, (n, length), generator=gen)
    depth = (1 - 2 * tokens).cumsum(dim=1)
    return tokens, (depth > 0).long()


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x, mask):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class CharModel(nn.Module):
    def __init__(self, vocab=2, dim=32, heads=4, length=24):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(length, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(2))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 2)

    def forward(self, tokens):
        t = tokens.shape[1]
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        x = self.tok(tokens) + self.pos(torch.arange(t))
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


def is_norm(name):
    return "norm" in name


def is_bias(name):
    return name.endswith("bias")  # CULPRIT


def param_groups(model, decay, lr, norm_lr_scale=0.5):
    named = list(model.named_parameters())
    rest = [p for n, p in named if not is_norm(n) and not is_bias(n)]
    return [
        {"params": rest, "weight_decay": decay, "lr": lr},
        {"params": [p for n, p in named if is_bias(n)], "weight_decay": 0.0, "lr": lr},
        {"params": [p for n, p in named if is_norm(n)], "weight_decay": 0.0, "lr": lr * norm_lr_scale},
    ]


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = CharModel()
    opt = torch.optim.AdamW(param_groups(model, decay=0.01, lr=3e-3))
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=80)
    for step in range(80):
        tokens, target = bracket_batch(32, 24, gen)
        logits = model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 20 == 19:
            acc = (logits.argmax(-1) == target).float().mean().item()
            print(f"step {step} loss {loss.item():.4f} accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
