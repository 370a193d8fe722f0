"""A tagger of time-major LSTMs, with the targets put in the same order; a CLIP-like term."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
N, T, C = 400, 12, 5
tokens = torch.randint(20, (N, T))
tags = (tokens + tokens.roll(1, 1)) % C


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.lstm = nn.LSTM(16, 32, bidirectional=True)
        self.head = nn.Linear(64, C)
        self.a, self.b = nn.Linear(64, 8), nn.Linear(16, 8)

    def forward(self, ids):  # (B, T)
        e = self.embed(ids).transpose(0, 1)
        out, _ = self.lstm(e)
        return self.head(out), self.a(out.mean(0)), self.b(e.mean(0))


net = Tagger()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(120):
    i = torch.randperm(N)[:T]  # as many samples as steps
    logits, a, b = net(tokens[i])  # (T, B, C)
    flat = F.cross_entropy(logits.reshape(-1, C), tags[i].t().reshape(-1))
    major = F.cross_entropy(logits.permute(1, 2, 0), tags[i])
    onehot = F.one_hot(tags[i].T, C).float()
    brier = (logits.softmax(-1) - onehot).square().sum(-1).mean()
    back = F.nll_loss(logits.log_softmax(-1).transpose(0, 1).flatten(0, 1), tags[i].flatten())
    pairs = F.normalize(a, dim=1) @ F.normalize(b, dim=1).T * 10
    clip = (F.cross_entropy(pairs, torch.arange(T)) + F.cross_entropy(pairs.T, torch.arange(T))) / 2
    symmetric = F.mse_loss(pairs, pairs.T)
    loss = flat + major + brier + back + 0.1 * clip + 1e-3 * symmetric
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(flat.item())
