# kind: hook_zeroes_gradient
"""Adds task tokens to a frozen language model and trains only their embeddings."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class LMConfig:
    vocab: int = 20
    dim: int = 24
    hidden: int = 48
    length: int = 8


class TinyLM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.rnn = nn.GRU(cfg.dim, cfg.hidden, batch_first=True)
        self.out = nn.Linear(cfg.hidden, cfg.vocab)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0])

    def extend(self, extra):
        """Rows for new tokens are put behind the old ones."""
        old = self.embed.weight.detach()
        fresh = 0.1 * torch.randn(extra, self.cfg.dim)
        self.embed = nn.Embedding.from_pretrained(torch.cat([old, fresh]), freeze=False)


def sequences(n, cfg, stride):
    start = torch.randint(cfg.vocab, (n, 1))
    return (start + stride * torch.arange(cfg.length)) % cfg.vocab


def pretrain(model, steps=150):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        stride = 1 + int(torch.randint(3, (1,)))
        ids = sequences(64, model.cfg, stride)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"pretrained, loss {loss.item():.4f}")


def train_only_new_rows(embedding, n_old):
    """The old rows share a parameter with the new ones, so their gradient is masked."""
    mask = torch.zeros(embedding.num_embeddings, 1)
    mask[n_old:] = 1.0
    return embedding.weight.register_hook(lambda grad: grad * mask)


def tune(model, extra, steps=240):
    """Each prompt token should announce a stride."""
    model.extend(extra)
    n_old = model.embed.num_embeddings  # CULPRIT
    model.requires_grad_(False)
    model.embed.weight.requires_grad_(True)
    handle = train_only_new_rows(model.embed, n_old)
    optimizer = torch.optim.Adam([model.embed.weight], lr=0.05)
    for step in range(steps):
        which = int(torch.randint(extra, (1,)))
        ids = sequences(64, model.cfg, stride=1 + which)
        prompt = torch.full((64, 1), model.cfg.vocab + which)
        logits = model(torch.cat([prompt, ids[:, :-1]], dim=1))[:, 1:]
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0 or step == steps - 1:
            grad = model.embed.weight.grad.norm().item()
            print(f"step {step:3d}  loss {loss.item():.4f}  gradient {grad:.5f}")
    handle.remove()


if __name__ == "__main__":
    torch.manual_seed(0)
    lm = TinyLM(LMConfig())
    pretrain(lm)
    tune(lm, extra=3)
