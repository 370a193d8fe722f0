# kind: hook_holds_its_graph
"""Transformer for toy sequences, with a probe that logs saliency of hidden states."""
import weakref

import torch
import torch.nn.functional as F
from torch import nn


class SaliencyProbe:
    """Mean of |activation * gradient| for tensors that it is shown."""

    def __init__(self):
        self.values = {}
        self.seen = []

    def watch(self, name, hidden):
        # the centred activation, as the layer norm sees it
        activation = hidden - hidden.mean(dim=-1, keepdim=True)  # CULPRIT

        def on_grad(grad):
            self.values[name] = (activation * grad).abs().mean().item()

        hidden.register_hook(on_grad)
        self.seen.append(weakref.ref(activation))

    def alive(self):
        return sum(ref() is not None for ref in self.seen)


class Encoder(nn.Module):
    def __init__(self, vocab, dim=32, layers=2, length=10):
        super().__init__()
        self.token = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(0.02 * torch.randn(length, dim))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True)
            for _ in range(layers)
        )
        self.out = nn.Linear(dim, 2)
        self.probe = None

    def forward(self, ids):
        h = self.token(ids) + self.position
        for i, block in enumerate(self.blocks):
            h = block(h)
            if self.probe is not None and self.training:
                self.probe.watch(f"block{i}", h)
        return self.out(h.mean(dim=1))


def batch_of(n, vocab, length):
    """Label: does the token 0 occur more than once?"""
    ids = torch.randint(vocab, (n, length))
    return ids, ((ids == 0).sum(dim=1) > 1).long()


def main():
    torch.manual_seed(0)
    vocab, length = 6, 10
    model = Encoder(vocab, length=length)
    model.probe = SaliencyProbe()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(80):
        ids, labels = batch_of(32, vocab, length)
        loss = F.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == 79:
            shown = {k: f"{v:.2e}" for k, v in model.probe.values.items()}
            print(f"step {step:3d} loss {loss.item():.3f} live {model.probe.alive()} {shown}")


if __name__ == "__main__":
    main()
