"""jsbaan/transformer-from-scratch#6, "Fix several bugs, one critical"
Symptom: the simple copy test passes but on a harder task the transformer does not learn.
EXPECT: runs
TRUTH: after attention the values are (batch, heads, seq, dim) and are reshaped to (batch, seq, heads*dim) without permuting first, which mixes different positions into one token; permute(0, 2, 1, 3) before the reshape.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(15)
torch.set_num_threads(1)

N_KEYS, N_VALUES = 8, 8
PAIRS, QUERIES = 4, 4


def make_lookup(n):
    keys = torch.stack([torch.randperm(N_KEYS)[:PAIRS] for _ in range(n)])
    values = torch.randint(0, N_VALUES, (n, PAIRS))
    pick = torch.randint(0, PAIRS, (n, QUERIES))
    pairs = keys * N_VALUES + values
    queries = keys.gather(1, pick) + N_KEYS * N_VALUES
    return TensorDataset(torch.cat([pairs, queries], dim=1), values.gather(1, pick))


class MultiHeadAttention(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv_dim = hidden_dim // num_heads
        self.qkv_proj = nn.Linear(hidden_dim, 3 * hidden_dim, bias=False)
        self.o_proj = nn.Linear(hidden_dim, hidden_dim, bias=False)

    def scaled_dot_product(self, q, k, v):
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.qkv_dim)
        return torch.matmul(F.softmax(scores, dim=-1), v)

    def forward(self, x):
        batch_size, seq_len, hidden_dim = x.size()
        qkv = self.qkv_proj(x).reshape(batch_size, seq_len, self.num_heads, 3 * self.qkv_dim)
        q, k, v = qkv.permute(0, 2, 1, 3).chunk(3, dim=-1)
        values = self.scaled_dot_product(q, k, v)
        values = values.reshape(batch_size, seq_len, hidden_dim)  # CULPRIT
        return self.o_proj(values)


class EncoderBlock(nn.Module):
    def __init__(self, hidden_dim, ff_dim, num_heads):
        super().__init__()
        self.self_mha = MultiHeadAttention(hidden_dim, num_heads)
        self.ff = nn.Sequential(nn.Linear(hidden_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, hidden_dim))
        self.norm1, self.norm2 = nn.LayerNorm(hidden_dim), nn.LayerNorm(hidden_dim)

    def forward(self, x):
        x = self.norm1(x + self.self_mha(x))
        return self.norm2(x + self.ff(x))


class LookupTransformer(nn.Module):
    def __init__(self, hidden_dim=48, num_heads=4, num_layers=1):
        super().__init__()
        self.embed = nn.Embedding(N_KEYS * N_VALUES + N_KEYS, hidden_dim)
        self.pos = nn.Parameter(0.1 * torch.randn(PAIRS + QUERIES, hidden_dim))
        self.blocks = nn.ModuleList([EncoderBlock(hidden_dim, 96, num_heads) for _ in range(num_layers)])
        self.out = nn.Linear(hidden_dim, N_VALUES)

    def forward(self, tokens):
        x = self.embed(tokens) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.out(x[:, PAIRS:])


def main():
    loader = DataLoader(make_lookup(5000), batch_size=100, shuffle=True)
    test_x, test_y = make_lookup(500).tensors
    model = LookupTransformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(14):
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 4 == 1 or epoch == 13:
            with torch.no_grad():
                acc = (model(test_x).argmax(-1) == test_y).float().mean().item()
            print("epoch %d loss %.4f test accuracy %.3f" % (epoch, total / len(loader), acc))


if __name__ == "__main__":
    main()
