"""What the user sees: the forecaster with multi-head attention runs, but the prediction for a window depends on things it
should not, the error stays clearly higher than with a single head.

TRUTH: view(B, H, L, -1) is used to go from [B, L, H, D] to [B, H, L, D]; view does not move dimensions, it mixes heads
and time steps. Fix: transpose(1, 2) instead of view (for queries, keys and values alike).
THREAD: https://github.com/zhouhaoyi/Informer2020/issues/59
"""
from math import sqrt

import torch
import torch.nn as nn


class FullAttention(nn.Module):
    def __init__(self, scale=None):
        super(FullAttention, self).__init__()
        self.scale = scale

    def forward(self, queries, keys, values):
        B, L, H, E = queries.shape
        _, S, _, D = values.shape

        queries, keys, values = [t.view(B, H, t.shape[1], -1) for t in (queries, keys, values)]  # CULPRIT
        scale = self.scale or 1. / sqrt(E)
        scores = torch.matmul(queries, keys.transpose(-2, -1))
        A = torch.softmax(scale * scores, dim=-1)
        V = torch.matmul(A, values)
        return V.transpose(1, 2).contiguous()


class AttentionLayer(nn.Module):
    def __init__(self, attention, d_model, n_heads):
        super(AttentionLayer, self).__init__()
        d = d_model // n_heads
        self.inner_attention = attention
        self.query_projection = nn.Linear(d_model, d * n_heads)
        self.key_projection = nn.Linear(d_model, d * n_heads)
        self.value_projection = nn.Linear(d_model, d * n_heads)
        self.out_projection = nn.Linear(d * n_heads, d_model)
        self.n_heads = n_heads

    def forward(self, queries, keys, values):
        B, L, _ = queries.shape
        _, S, _ = keys.shape
        H = self.n_heads
        queries = self.query_projection(queries).view(B, L, H, -1)
        keys = self.key_projection(keys).view(B, S, H, -1)
        values = self.value_projection(values).view(B, S, H, -1)
        out = self.inner_attention(queries, keys, values)
        return self.out_projection(out.view(B, L, -1))


class Forecaster(nn.Module):
    def __init__(self, enc_in=5, d_model=32, n_heads=4):
        super().__init__()
        self.emb = nn.Linear(enc_in, d_model)
        self.attn = AttentionLayer(FullAttention(), d_model, n_heads)
        self.norm = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, 64), nn.GELU(), nn.Linear(64, 1))

    def forward(self, x):
        h = self.emb(x)
        h = self.norm(h + self.attn(h, h, h))
        return self.ff(h).squeeze(-1)


def get_batch(n=64, L=10):
    """each step carries a key, a query and a value; the target is the value stored at the step whose key is asked for"""
    ids = torch.stack([torch.randperm(L) for _ in range(n)])
    ask = torch.randint(0, L, (n, L))
    value = torch.randn(n, L)
    where = torch.argsort(ids, 1)
    target = torch.gather(value, 1, torch.gather(where, 1, ask))
    ang = 6.2832 / L
    x = torch.stack([torch.cos(ids * ang), torch.sin(ids * ang), torch.cos(ask * ang), torch.sin(ask * ang), value], -1)
    return x, target


if __name__ == '__main__':
    torch.manual_seed(0)
    model = Forecaster()
    model_optim = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    train_loss = []
    for it in range(1, 451):
        batch_x, batch_y = get_batch()
        model_optim.zero_grad()
        loss = criterion(model(batch_x), batch_y)
        loss.backward()
        model_optim.step()
        train_loss.append(loss.item())
        if it % 50 == 0:
            print('iters: {0} | loss: {1:.5f}'.format(it, sum(train_loss[-50:]) / 50))
