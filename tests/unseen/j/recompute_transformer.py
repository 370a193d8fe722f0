# kind: custom_fn_unseen_input
"""Sorting short sequences with a transformer whose blocks are recomputed in the backward pass."""
import torch
from torch import nn
import torch.nn.functional as F


class Recompute(torch.autograd.Function):
    """Runs a block without keeping its activations; runs it again when gradients are asked for."""

    @staticmethod
    def forward(ctx, block, x, *weights):
        ctx.block, ctx.weights = block, weights
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            out = ctx.block(x)
            grads = torch.autograd.grad(out, (x, *ctx.weights), grad)
        return (None, *grads)


class Block(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d)
        x = x + self.proj(mixed)
        return x + self.mlp(self.norm2(x))


class Sorter(nn.Module):
    def __init__(self, vocab=10, length=6, dim=32, depth=2, save_memory=True):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.places = nn.Parameter(0.02 * torch.randn(length, dim))
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.out = nn.Linear(dim, vocab)
        self.save_memory = save_memory

    def forward(self, ids):
        x = self.tokens(ids) + self.places
        for block in self.blocks:
            if self.save_memory and self.training:
                x = Recompute.apply(block, x)  # CULPRIT
            else:
                x = block(x)
        return self.out(x)


def main(steps=240):
    torch.manual_seed(0)
    model = Sorter()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(1, steps + 1):
        ids = torch.randint(10, (64, 6))
        target = ids.sort(dim=1).values
        loss = F.cross_entropy(model(ids).flatten(0, 1), target.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 60 == 0:
            missing = sum(p.grad is None for p in model.parameters())
            print(f"step {step}: loss {loss.item():.3f} parameters without gradient {missing}")


if __name__ == "__main__":
    main()
