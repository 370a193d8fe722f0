"""adaLN-zero blocks, a zero output layer and a warm-up from 0, as in DiT."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d, elementwise_affine=False)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.ada = nn.Linear(d, 3 * d)
        nn.init.zeros_(self.ada.weight)
        nn.init.zeros_(self.ada.bias)

    def forward(self, x, c):
        shift, scale, gate = self.ada(F.silu(c)).chunk(3, -1)
        return x + gate * self.mlp(self.norm(x) * (1 + scale) + shift)


class DiT(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.inp, self.time = nn.Linear(2, d), nn.Linear(1, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(3))
        self.norm = nn.LayerNorm(d, elementwise_affine=False)
        self.out = nn.Linear(d, 2)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x, t):
        x, c = self.inp(x), self.time(t)
        for block in self.blocks:
            x = block(x, c)
        return self.out(self.norm(x))


net = DiT()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min(k / 10, 1.0) if k > 2 else 0.0)
for step in range(60):
    x = torch.randn(64, 2) * torch.tensor([1.0, 0.3])
    t, noise = torch.rand(64, 1), torch.randn(64, 2)
    loss = F.mse_loss(net((1 - t) * x + t * noise, t), noise - x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
print(loss.item())
