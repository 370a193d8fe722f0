"""WRONG. The loss of a from-scratch decoder on a Markov source falls clearly below the entropy of the source, yet sampling from it
step by step gives transitions that never occur in the data.
TRUTH: values has shape (batch, heads, seq, dim) and is reshaped to (batch, seq, heads*dim) without permute(0, 2, 1, 3): token t gets
chunks of other, also later, positions; permute before the reshape.
THREAD: https://github.com/jsbaan/transformer-from-scratch/pull/6
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        assert hidden_dim % num_heads == 0
        self.qkv_dim = hidden_dim // num_heads
        self.num_heads = num_heads
        self.qkv_proj = nn.Linear(hidden_dim, 3 * num_heads * self.qkv_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * self.qkv_dim, hidden_dim, bias=False)
        self._reset_parameters()

    def _reset_parameters(self):
        nn.init.xavier_uniform_(self.qkv_proj.weight)
        nn.init.xavier_uniform_(self.o_proj.weight)

    def forward(self, x, future_mask=None):
        batch_size, sequence_length, hidden_dim = x.size()
        qkv = self.qkv_proj(x)
        qkv = qkv.reshape(batch_size, sequence_length, self.num_heads, 3 * self.qkv_dim)
        q, k, v = qkv.permute(0, 2, 1, 3).chunk(3, dim=-1)
        values, attn = self.scaled_dot_product(q, k, v, future_mask)
        values = values.reshape(batch_size, sequence_length, hidden_dim)  # CULPRIT
        return self.o_proj(values)

    def scaled_dot_product(self, q, k, v, future_mask):
        logits = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.qkv_dim)
        if future_mask is not None:
            logits = logits.masked_fill(future_mask == 0, float("-inf"))
        attn = F.softmax(logits, dim=-1)
        return torch.matmul(attn, v), attn


class DecoderBlock(nn.Module):
    def __init__(self, hidden_dim, num_heads, ff_dim, dropout_p):
        super().__init__()
        self.self_mha = MultiHeadAttention(hidden_dim, num_heads)
        self.feed_forward = nn.Sequential(nn.Linear(hidden_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, hidden_dim))
        self.dropout = nn.Dropout(dropout_p)
        self.layer_norm1 = nn.LayerNorm(hidden_dim)
        self.layer_norm2 = nn.LayerNorm(hidden_dim)

    def forward(self, x, future_mask):
        x = self.layer_norm1(x + self.dropout(self.self_mha(x, future_mask)))
        return self.layer_norm2(x + self.dropout(self.feed_forward(x)))


class Decoder(nn.Module):
    def __init__(self, vocab_size, max_len, hidden_dim=32, num_heads=4, num_layers=2, dropout_p=0.0):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, hidden_dim)
        self.positional = nn.Embedding(max_len, hidden_dim)
        self.blocks = nn.ModuleList(
            DecoderBlock(hidden_dim, num_heads, 2 * hidden_dim, dropout_p) for _ in range(num_layers))
        self.output_layer = nn.Linear(hidden_dim, vocab_size)

    @staticmethod
    def construct_future_mask(seq_len):
        return torch.tril(torch.ones(seq_len, seq_len, dtype=torch.bool))

    def forward(self, ids):
        mask = self.construct_future_mask(ids.size(1))
        x = self.embed(ids) + self.positional.weight[:ids.size(1)]
        for block in self.blocks:
            x = block(x, mask)
        return self.output_layer(x)


class MarkovSource:
    def __init__(self, vocab, fanout):
        self.vocab = vocab
        self.next = torch.stack([torch.randperm(vocab)[:fanout] for _ in range(vocab)])
        self.entropy = math.log(fanout)

    def sample(self, batch, length):
        ids = [torch.randint(0, self.vocab, (batch,))]
        for _ in range(length - 1):
            pick = torch.randint(0, self.next.size(1), (batch,))
            ids.append(self.next[ids[-1], pick])
        return torch.stack(ids, 1)

    def legal(self, prev, cur):
        return (self.next[prev] == cur[:, None]).any(1)


@torch.no_grad()
def generate(model, start, steps):
    ids = start
    for _ in range(steps):
        probs = F.softmax(model(ids)[:, -1], dim=-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
    return ids


def main():
    torch.manual_seed(0)
    length = 16
    source = MarkovSource(vocab=12, fanout=4)
    model = Decoder(source.vocab, length)
    optim = torch.optim.Adam(model.parameters(), lr=5e-3)
    for it in range(200):
        ids = source.sample(48, length + 1)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optim.zero_grad()
        loss.backward()
        optim.step()
        if it % 50 == 49:
            print(f"it {it + 1} loss {loss.item():.3f} (entropy of the source {source.entropy:.3f})")
    model.eval()
    out = generate(model, source.sample(64, 2), length - 2)
    ok = torch.stack([source.legal(out[:, i], out[:, i + 1]) for i in range(1, out.size(1) - 1)])
    print(f"legal transitions in sampled text {ok.float().mean().item():.2f}")


if __name__ == "__main__":
    main()
