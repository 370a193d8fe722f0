"""CORRECT. Layers are produced by deepcopy of one layer and so begin with equal values, but they are separate modules and all matrices are initialised anew with xavier_uniform_ afterwards.
THREAD: https://github.com/harvardnlp/annotated-transformer/issues/9
"""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def clones(module, N):
    "Produce N identical layers."
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super(LayerNorm, self).__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2


class SublayerConnection(nn.Module):
    def __init__(self, size, dropout):
        super(SublayerConnection, self).__init__()
        self.norm = LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


def subsequent_mask(size):
    "Mask out subsequent positions."
    return torch.triu(torch.ones(1, size, size), diagonal=1).type(torch.uint8) == 0


def attention(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model, dropout=0.1):
        super(MultiHeadedAttention, self).__init__()
        self.d_k = d_model // h
        self.h = h
        self.linears = clones(nn.Linear(d_model, d_model), 4)
        self.attn = None
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        nbatches = query.size(0)
        query, key, value = [lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
                             for lin, x in zip(self.linears, (query, key, value))]
        x, self.attn = attention(query, key, value, mask=mask, dropout=self.dropout)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linears[-1](x)


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super(PositionwiseFeedForward, self).__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.w_2(self.dropout(F.relu(self.w_1(x))))


class DecoderLayer(nn.Module):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__()
        self.size = size
        self.self_attn = self_attn
        self.feed_forward = feed_forward
        self.sublayer = clones(SublayerConnection(size, dropout), 2)

    def forward(self, x, mask):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask))
        return self.sublayer[1](x, self.feed_forward)


class LanguageModel(nn.Module):
    def __init__(self, layer, N, vocab, max_len=32):
        super().__init__()
        self.lut = nn.Embedding(vocab, layer.size)
        position = torch.arange(0, max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, layer.size, 2) * -(math.log(10000.0) / layer.size))
        pe = torch.zeros(max_len, layer.size)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))
        self.layers = clones(layer, N)
        self.norm = LayerNorm(layer.size)
        self.proj = nn.Linear(layer.size, vocab)

    def forward(self, x, mask):
        x = self.lut(x) * math.sqrt(self.pe.size(-1)) + self.pe[:, : x.size(1)].requires_grad_(False)
        for layer in self.layers:
            x = layer(x, mask)
        return F.log_softmax(self.proj(self.norm(x)), dim=-1)


def make_model(vocab, N=2, d_model=32, d_ff=64, h=4, dropout=0.05):
    c = copy.deepcopy
    layer = DecoderLayer(d_model, c(MultiHeadedAttention(h, d_model)), c(PositionwiseFeedForward(d_model, d_ff, dropout)), dropout)
    model = LanguageModel(layer, N, vocab)
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    V, half = 11, 6
    model = make_model(V)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5, betas=(0.9, 0.98), eps=1e-9)
    rate = lambda step: 32 ** -0.5 * min((step + 1) ** -0.5, (step + 1) * 60 ** -1.5)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=rate)
    for step in range(260):
        model.train()
        first = torch.randint(1, V, (32, half))
        data = torch.cat([torch.zeros(32, 1, dtype=torch.long), first, first], dim=1)
        src, tgt = data[:, :-1], data[:, 1:]
        logp = model(src, subsequent_mask(src.size(1)))
        loss = F.nll_loss(logp[:, half:].reshape(-1, V), tgt[:, half:].reshape(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        scheduler.step()
        if step % 65 == 64:
            print("step %d copy loss %.4f lr %.5f" % (step + 1, loss.item(), optimizer.param_groups[0]["lr"]))
