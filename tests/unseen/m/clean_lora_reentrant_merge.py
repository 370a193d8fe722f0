"""RIGHT. LoRA on a frozen network with reentrant gradient checkpointing; for the evaluation the adapters are merged in place into the frozen weights and taken out again.
TRUTH: a forward hook makes the output of the frozen embedding require grad, which reentrant checkpointing needs; merging writes under no_grad to weights that do not require grad while no graph is alive, and unmerging copies the stored original back, so nothing drifts.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)

CFG = dict(vocab=30, dim=32, depth=3, rank=4, alpha=8.0, steps=50, lr=1e-2)


class LoRALinear(nn.Linear):
    def __init__(self, base, rank, alpha):
        super().__init__(base.in_features, base.out_features, bias=base.bias is not None)
        self.load_state_dict(base.state_dict())
        self.weight.requires_grad_(False)
        if self.bias is not None:
            self.bias.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))
        self.scaling = alpha / rank
        self.original = None

    @torch.no_grad()
    def merge(self):
        if self.original is None:
            self.original = self.weight.clone()
            self.weight.add_(self.lora_b @ self.lora_a, alpha=self.scaling)

    @torch.no_grad()
    def unmerge(self):
        if self.original is not None:
            self.weight.copy_(self.original)
            self.original = None

    def forward(self, x):
        out = F.linear(x, self.weight, self.bias)
        if self.original is None:
            out = out + self.scaling * F.linear(F.linear(x, self.lora_a), self.lora_b)
        return out


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mix = nn.Linear(dim, dim)
        self.ff = nn.Linear(dim, dim)

    def forward(self, x):
        h = self.mix(self.norm(x))
        h = h + h.mean(1, keepdim=True)
        return x + self.ff(F.gelu(h))


class Model(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg["vocab"], cfg["dim"])
        self.blocks = nn.ModuleList(Block(cfg["dim"]) for _ in range(cfg["depth"]))
        self.head = nn.Linear(cfg["dim"], 2)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            if self.training:
                x = checkpoint(block, x, use_reentrant=True)
            else:
                x = block(x)
        return self.head(x.mean(1))


def add_lora(model, cfg):
    model.requires_grad_(False)
    for block in model.blocks:
        block.mix = LoRALinear(block.mix, cfg["rank"], cfg["alpha"])
        block.ff = LoRALinear(block.ff, cfg["rank"], cfg["alpha"])
    model.head.requires_grad_(True)
    return model.embed.register_forward_hook(lambda m, args, out: out.requires_grad_(True))


def lora_layers(model):
    return [m for m in model.modules() if isinstance(m, LoRALinear)]


def get_batch(cfg, n):
    ids = torch.randint(0, cfg["vocab"], (n, 7))
    return ids, ((ids < cfg["vocab"] // 2).sum(1) > 3).long()


@torch.no_grad()
def evaluate(model, ids, y):
    model.eval()
    separate = model(ids)
    for m in lora_layers(model):
        m.merge()
    merged = model(ids)
    for m in lora_layers(model):
        m.unmerge()
    model.train()
    return (merged.argmax(1) == y).float().mean().item(), (separate - merged).abs().max().item()


def main():
    model = Model(CFG)
    add_lora(model, CFG)
    frozen = {n: p.clone() for n, p in model.named_parameters() if not p.requires_grad}
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad),
                                  lr=CFG["lr"], weight_decay=0.0)
    val = get_batch(CFG, 256)
    for step in range(CFG["steps"]):
        ids, y = get_batch(CFG, 64)
        loss = F.cross_entropy(model(ids), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            acc, gap = evaluate(model, *val)
            print(f"step {step} loss {loss.item():.4f} acc {acc:.3f} merge gap {gap:.1e}")
    params = dict(model.named_parameters())
    print("frozen weights untouched:", all(torch.equal(params[n], v) for n, v in frozen.items()))
    print("all adapters moved:", all(m.lora_b.abs().sum().item() > 0 for m in lora_layers(model)))


if __name__ == "__main__":
    main()
