"""ALBERT: one layer for all depths, handed out by a cached factory; BitFit afterwards."""
from functools import cache

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


@cache
def shared_layer(width):
    """Return the one layer of a width: all who ask for it share its weights."""
    return nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)


class Albert(nn.Module):
    def __init__(self, vocab=20, width=32, depth=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList([shared_layer(width)] * depth)
        self.head = nn.Linear(width, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def fit(net, steps):
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for _ in range(steps):
        ids = (torch.randint(20, (32, 1)) + torch.arange(10)) % 20
        logits = net(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        if not torch.isfinite(loss):
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


net = Albert()
fit(net, 60)
for name, p in net.named_parameters():
    p.requires_grad_(name.endswith("bias") or name.startswith("head."))
fit(net, 30)
