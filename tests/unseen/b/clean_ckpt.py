"""GitHub issue (pytorch), "Checkpoint with dropout and use_reentrant=False inside autocast: forward hook runs twice"
Symptom: none, a counter in forward shows double calls.
EXPECT: runs
TRUTH: Correct. Checkpointing recomputes the block in backward, so the counter doubles; RNG state is preserved by default."""
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Block(nn.Module):
    calls = 0

    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * d, d))

    def forward(self, x):
        Block.calls += 1
        return x + self.ff(self.norm(x))


class Stack(nn.Module):
    def __init__(self, d=16, n=3):
        super().__init__()
        self.inp = nn.Linear(6, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(n))
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        h = self.inp(x)
        for b in self.blocks:
            h = checkpoint(b, h, use_reentrant=False)
        return self.out(h)


x = torch.randn(256, 6)
y = x[:, :1] * x[:, 1:2]
net = Stack()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for it in range(100):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        pred = net(x)
    loss = (pred.float() - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 30 == 0:
        print(it, loss.item(), Block.calls)
print("loss", loss.item())
