"""WRONG. The mask given to the transformer has no effect on the output, padded positions are attended.
TRUTH: Tensor.masked_fill returns a new tensor and the result is thrown away; use masked_fill_ (or assign the result).
THREAD: https://github.com/opendilab/DI-engine/issues/333
"""
import math
from typing import List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):

    def __init__(self, input_dim: int, head_dim: int, output_dim: int, head_num: int, dropout: nn.Module) -> None:
        super(Attention, self).__init__()
        self.head_num = head_num
        self.head_dim = head_dim
        self.dropout = dropout
        self.attention_pre = nn.Linear(input_dim, head_dim * head_num * 3)
        self.project = nn.Linear(head_dim * head_num, output_dim)

    def split(self, x: torch.Tensor, T: bool = False) -> torch.Tensor:
        B, N = x.shape[:2]
        x = x.view(B, N, self.head_num, self.head_dim)
        x = x.permute(0, 2, 1, 3).contiguous()
        if T:
            x = x.permute(0, 1, 3, 2).contiguous()
        return x

    def forward(self, x: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        assert len(x.shape) == 3
        B, N = x.shape[:2]
        x = self.attention_pre(x)
        query, key, value = torch.chunk(x, 3, dim=2)
        query, key, value = self.split(query), self.split(key, T=True), self.split(value)

        score = torch.matmul(query, key)
        score /= math.sqrt(self.head_dim)
        if mask is not None:
            score.masked_fill(~mask[:, None, None, :], value=-1e9)  # CULPRIT

        score = F.softmax(score, dim=-1)
        score = self.dropout(score)
        attention = torch.matmul(score, value)
        attention = attention.permute(0, 2, 1, 3).contiguous()
        return self.project(attention.view(B, N, -1))


class TransformerLayer(nn.Module):

    def __init__(self, dim: int, head_dim: int, hidden: int, head_num: int, dropout: nn.Module) -> None:
        super().__init__()
        self.attention = Attention(dim, head_dim, dim, head_num, dropout)
        self.layernorm1 = nn.LayerNorm(dim)
        self.dropout = dropout
        self.mlp = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim), self.dropout)
        self.layernorm2 = nn.LayerNorm(dim)

    def forward(self, inputs: Tuple[torch.Tensor, Optional[torch.Tensor]]):
        x, mask = inputs
        a = self.dropout(self.attention(x, mask))
        x = self.layernorm1(x + a)
        x = self.layernorm2(x + self.mlp(x))
        return x, mask


class Transformer(nn.Module):

    def __init__(self, input_dim: int, dim: int = 24, layer_num: int = 2, head_num: int = 2, dropout: float = 0.05):
        super().__init__()
        self.embedding = nn.Sequential(nn.Linear(input_dim, dim), nn.ReLU())
        drop = nn.Dropout(dropout)
        self.main = nn.Sequential(*[TransformerLayer(dim, 12, 48, head_num, drop) for _ in range(layer_num)])

    def forward(self, x: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        x = self.embedding(x)
        x, mask = self.main((x, mask))
        return x


class UnitValueNet(nn.Module):
    """Values the army of a player; every unit is one entity of a padded list."""

    def __init__(self, input_dim: int):
        super().__init__()
        self.encoder = Transformer(input_dim)
        self.head = nn.Linear(24, 1)

    def forward(self, units: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        h = self.encoder(units, mask)
        m = mask.unsqueeze(-1).float()
        pooled = (h * m).sum(1) / m.sum(1)
        return self.head(pooled).squeeze(-1)


def armies(n: int, g: torch.Generator, max_units: int = 10) -> List[torch.Tensor]:
    count = torch.randint(2, max_units + 1, (n,), generator=g)
    mask = torch.arange(max_units)[None, :] < count[:, None]
    units = torch.randn(n, max_units, 5, generator=g)
    strongest = units[..., 0].masked_fill(~mask, -9.0).max(1).values
    value = strongest + 0.5 * (units[..., 1] * mask).sum(1) / count
    stale = 3.0 * torch.randn(n, max_units, 5, generator=g)
    units = torch.where(mask.unsqueeze(-1), units, stale)
    return [units, mask, value]


if __name__ == '__main__':
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    train, test = armies(1024, gen), armies(256, gen)
    model = UnitValueNet(5)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(12):
        model.train()
        total = 0.0
        for idx in torch.randperm(1024).split(64):
            loss = F.smooth_l1_loss(model(train[0][idx], train[1][idx]), train[2][idx])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            err = F.smooth_l1_loss(model(test[0], test[1]), test[2]).item()
            noisy = torch.where(test[1].unsqueeze(-1), test[0], torch.zeros(()))
            shift = (model(noisy, test[1]) - model(test[0], test[1])).abs().mean().item()
        if epoch % 3 == 2:
            print('epoch %d train %.4f test %.4f change when the padding is zeroed %.4f' % (epoch, total / 16, err, shift))
