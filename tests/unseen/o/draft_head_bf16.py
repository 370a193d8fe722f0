"""Trains a small draft model (speculator) against a fixed verifier's next-token distribution, in bfloat16 to save memory.

TRUTH: The whole draft model and thus the optimizer work on bfloat16 parameters. Next to 1.0 the bf16 step is 2^-8..2^-7, larger
than an Adam update at this learning rate, so every update of the norm weights is rounded away. Symptom: all RMSNorm weights
stay exactly 1.0 and the loss ends higher. Fix: keep the parameters in fp32 and use autocast for the bf16 compute.
Drawn from vllm-project/speculators#765.
"""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class SpeculatorConfig:
    vocab: int = 40
    hidden: int = 48
    layers: int = 2
    lr: float = 1e-3
    steps: int = 400
    batch: int = 64
    dtype: torch.dtype = torch.bfloat16


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        dtype = x.dtype
        x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * x.to(dtype)


class DraftLayer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.input_layernorm = RMSNorm(cfg.hidden)
        self.up, self.gate = nn.Linear(cfg.hidden, 2 * cfg.hidden), nn.Linear(cfg.hidden, 2 * cfg.hidden)
        self.down = nn.Linear(2 * cfg.hidden, cfg.hidden)

    def forward(self, x):
        h = self.input_layernorm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class DraftModel(nn.Module):
    def __init__(self, cfg, embed, lm_head):
        super().__init__()
        self.register_buffer("embed", embed)
        self.register_buffer("lm_head", lm_head)
        self.fc = nn.Linear(2 * cfg.hidden, cfg.hidden)
        self.hidden_norm = RMSNorm(cfg.hidden)
        self.layers = nn.ModuleList(DraftLayer(cfg) for _ in range(cfg.layers))
        self.norm = RMSNorm(cfg.hidden)

    def forward(self, token, hidden):
        x = self.fc(torch.cat([self.embed[token], self.hidden_norm(hidden)], -1))
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.norm(x), self.lm_head)


class Verifier:
    """Stands for the big model: gives a hidden state and the distribution of the next token."""

    def __init__(self, cfg, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.cfg, self.g = cfg, torch.Generator().manual_seed(seed + 1)
        self.embed = torch.randn(cfg.vocab, cfg.hidden, generator=g)
        self.lm_head = torch.randn(cfg.vocab, cfg.hidden, generator=g) / cfg.hidden ** 0.5
        scale = torch.exp(1.2 * torch.randn(cfg.hidden, generator=g))
        self.w = torch.randn(2 * cfg.hidden, cfg.hidden, generator=g) / cfg.hidden ** 0.5
        self.scale = scale

    def batch(self, n, gen=None):
        gen = gen or self.g
        token = torch.randint(0, self.cfg.vocab, (n,), generator=gen)
        hidden = torch.randn(n, self.cfg.hidden, generator=gen)
        x = torch.tanh(torch.cat([self.embed[token], hidden], -1) @ self.w)
        logits = 3.0 * (x * self.scale) @ self.lm_head.T
        return token, hidden, logits.log_softmax(-1)


def build_draft(cfg, verifier):
    draft = DraftModel(cfg, verifier.embed, verifier.lm_head)
    draft = draft.to(cfg.dtype)  # CULPRIT
    return draft


def kl(logits, target):
    return F.kl_div(logits.float().log_softmax(-1), target, log_target=True, reduction="batchmean")


def main():
    cfg = SpeculatorConfig()
    torch.manual_seed(0)
    verifier = Verifier(cfg)
    draft = build_draft(cfg, verifier)
    optimizer = torch.optim.AdamW(draft.parameters(), lr=cfg.lr, weight_decay=0.0)
    held_out = verifier.batch(500, torch.Generator().manual_seed(77))
    dtype = next(draft.parameters()).dtype

    for step in range(1, cfg.steps + 1):
        token, hidden, target = verifier.batch(cfg.batch)
        with torch.autocast("cpu", dtype=cfg.dtype):
            logits = draft(token, hidden.to(dtype))
        loss = kl(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            with torch.no_grad(), torch.autocast("cpu", dtype=cfg.dtype):
                out = draft(held_out[0], held_out[1].to(dtype))
                acc = (out.argmax(-1) == held_out[2].argmax(-1)).float().mean().item()
            print(f"step {step} loss {loss.item():.4f} held-out kl {kl(out, held_out[2]).item():.4f} accept {acc:.3f}")

    for name, p in draft.named_parameters():
        if "norm" in name:
            print(f"{name}: {(p != 1).float().mean().item():.0%} of the entries moved, max change {(p - 1).abs().max().item():.4f}")


if __name__ == "__main__":
    main()
