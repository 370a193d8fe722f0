"""WRONG. With gradient checkpointing switched on, the lora_up matrices are all zero after training; without checkpointing they learn.
TRUTH: reentrant checkpointing needs an input that requires grad; the embeddings are frozen, so no checkpointed block gets gradients. use_reentrant=False (or making the embedding output require grad) mends it.
THREAD: https://github.com/cloneofsimo/lora/issues/26
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)

CONFIG = dict(vocab=40, dim=32, layers=3, rank=4, alpha=8, lr=1e-2, steps=50,
              gradient_checkpointing=True)


class LoraInjectedLinear(nn.Module):
    def __init__(self, linear, r, alpha):
        super().__init__()
        self.linear = linear
        self.lora_down = nn.Linear(linear.in_features, r, bias=False)
        self.lora_up = nn.Linear(r, linear.out_features, bias=False)
        self.scale = alpha / r
        nn.init.kaiming_uniform_(self.lora_down.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_up.weight)

    def forward(self, x):
        return self.linear(x) + self.lora_up(self.lora_down(x)) * self.scale


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.to_v = nn.Linear(dim, dim)
        self.ff = nn.Linear(dim, dim)

    def forward(self, x):
        h = self.to_v(self.norm(x))
        h = h.cumsum(1) / torch.arange(1, h.size(1) + 1).view(1, -1, 1)
        return x + self.ff(F.gelu(h))


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg["vocab"], cfg["dim"])
        self.blocks = nn.ModuleList(Block(cfg["dim"]) for _ in range(cfg["layers"]))
        self.final = nn.LayerNorm(cfg["dim"])
        self.gradient_checkpointing = False

    def enable_gradient_checkpointing(self):
        self.gradient_checkpointing = True

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(block, x, use_reentrant=True)  # CULPRIT
            else:
                x = block(x)
        return self.final(x)


def inject_trainable_lora(model, r, alpha, targets=("to_v", "ff")):
    model.requires_grad_(False)
    params = []
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in targets and isinstance(child, nn.Linear):
                lora = LoraInjectedLinear(child, r, alpha)
                setattr(module, name, lora)
                params += list(lora.lora_up.parameters()) + list(lora.lora_down.parameters())
    return params


def get_batch(cfg, n=32, length=10):
    ids = torch.randint(0, cfg["vocab"], (n, length))
    labels = (ids[:, :5].sum(1) % 2).long() + 2 * (ids[:, -1] > cfg["vocab"] // 2).long()
    return ids, labels


def report(model, tag):
    ups = [m.lora_up.weight for m in model.modules() if isinstance(m, LoraInjectedLinear)]
    print(f"{tag}: lora_up norms " + " ".join(f"{u.norm().item():.3f}" for u in ups))


def main():
    encoder = Encoder(CONFIG)
    lora_params = inject_trainable_lora(encoder, CONFIG["rank"], CONFIG["alpha"])
    head = nn.Linear(CONFIG["dim"], 4)
    if CONFIG["gradient_checkpointing"]:
        encoder.enable_gradient_checkpointing()
    encoder.train()
    optimizer = torch.optim.AdamW([
        {"params": lora_params, "lr": CONFIG["lr"]},
        {"params": head.parameters(), "lr": CONFIG["lr"] / 2},
    ], weight_decay=0.0)
    report(encoder, "before")
    for step in range(CONFIG["steps"]):
        ids, labels = get_batch(CONFIG)
        logits = head(encoder(ids)[:, -1])
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step} loss {loss.item():.4f}")
    report(encoder, "after")


if __name__ == "__main__":
    main()
