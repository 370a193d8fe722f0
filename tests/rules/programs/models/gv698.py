"""GV698: argument-not-handed-on."""

from __future__ import annotations

from tests.rules.harness import Case, case

PROGRAMS: list[Case] = [
    case(
        "mask_that_a_block_keeps_for_itself",
        """
        import torch
        from torch import nn
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.qkv = nn.Linear(4, 12)
            def forward(self, x, mask=None):
                q, k, v = self.qkv(x).chunk(3, dim=-1)
                scores = q @ k.transpose(1, 2) / 2
                if mask is not None:
                    scores = scores.masked_fill(mask, -1e9)
                return scores.softmax(-1) @ v
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.attention, self.norm = Attention(), nn.LayerNorm(4)
            def forward(self, x, mask=None):
                return x + self.attention(self.norm(x))  # CULPRIT
        block = Block()
        optimizer = torch.optim.SGD(block.parameters(), lr=0.01)
        hidden = torch.ones(5, 5).triu(1).bool()
        for _ in range(3):
            optimizer.zero_grad()
            block(torch.randn(2, 5, 4), hidden).pow(2).mean().backward()
            optimizer.step()
        """,
        "argument-not-handed-on",
        says=["`mask=hidden`", "`mask=mask`"],
    ),
    case(
        "strength_from_a_schedule_that_stays_at_one",
        """
        import torch
        from torch import nn
        class Noisy(nn.Module):
            def forward(self, x, *, strength=1.0):
                return x + strength * torch.randn_like(x)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.noise, self.out = Noisy(), nn.Linear(3, 1)
            def forward(self, x, strength=1.0):
                noised = self.noise(x)  # CULPRIT
                return self.out(noised)
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(4):
            optimizer.zero_grad()
            net(torch.randn(6, 3), strength=step / 4).pow(2).mean().backward()
            optimizer.step()
        """,
        "argument-not-handed-on",
    ),
    case(
        "argument_that_is_handed_on_or_has_no_use",
        """
        import torch
        from torch import nn
        class Mixed(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
            def forward(self, x, mask=None, scale=1.0):
                x = self.lin(x) * scale
                return x if mask is None else x * mask
        class Plain(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
            def forward(self, x, mask=None):
                return self.lin(x)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList([Mixed(), Plain()])
            def forward(self, x, mask=None, scale=1.0):
                for part in self.parts:
                    x = part(x, mask)
                return x
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(6, 3), torch.ones(3), scale=1.0).pow(2).mean().backward()
            optimizer.step()
        """,
    ),
]
