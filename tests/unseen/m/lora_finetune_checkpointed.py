"""WRONG. LoRA fine-tuning runs without gradient checkpointing; with it switched on loss.backward() raises
"element 0 of tensors does not require grad and does not have a grad_fn".
TRUTH: the embeddings are frozen, so the input of the first checkpointed block does not require grad and reentrant checkpointing
cuts the graph of every block; use checkpoint(..., use_reentrant=False) (or make the embedding output require grad).
THREAD: https://github.com/huggingface/transformers/issues/23170
"""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


@dataclass
class Config:
    vocab_size: int = 24
    dim: int = 32
    n_heads: int = 4
    n_layers: int = 3
    max_len: int = 32
    r: int = 4
    lora_alpha: int = 8
    gradient_checkpointing: bool = True


class LoraLinear(nn.Module):
    def __init__(self, base, r, alpha):
        super().__init__()
        self.base = base
        self.scaling = alpha / r
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        return self.base(x) + self.scaling * F.linear(F.linear(x, self.lora_A), self.lora_B)


class Attention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_heads = cfg.n_heads
        self.q_proj = nn.Linear(cfg.dim, cfg.dim, bias=False)
        self.k_proj = nn.Linear(cfg.dim, cfg.dim, bias=False)
        self.v_proj = nn.Linear(cfg.dim, cfg.dim, bias=False)
        self.o_proj = nn.Linear(cfg.dim, cfg.dim, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (p(x).view(b, t, self.n_heads, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(cfg.dim), nn.LayerNorm(cfg.dim)
        self.attn = Attention(cfg)
        self.mlp = nn.Sequential(nn.Linear(cfg.dim, 2 * cfg.dim), nn.SiLU(), nn.Linear(2 * cfg.dim, cfg.dim))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class TinyLlama(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed_tokens = nn.Embedding(cfg.vocab_size, cfg.dim)
        self.embed_pos = nn.Embedding(cfg.max_len, cfg.dim)
        self.layers = nn.ModuleList(Block(cfg) for _ in range(cfg.n_layers))
        self.norm = nn.LayerNorm(cfg.dim)
        self.lm_head = nn.Linear(cfg.dim, cfg.vocab_size, bias=False)

    def forward(self, input_ids, labels=None):
        x = self.embed_tokens(input_ids) + self.embed_pos.weight[:input_ids.size(1)]
        for layer in self.layers:
            if self.cfg.gradient_checkpointing and self.training:
                x = checkpoint(layer, x, use_reentrant=True)  # CULPRIT
            else:
                x = layer(x)
        logits = self.lm_head(self.norm(x))
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)
        return loss, logits


def get_peft_model(model, cfg, target_modules=("q_proj", "v_proj")):
    for p in model.parameters():
        p.requires_grad_(False)
    for layer in model.layers:
        for name in target_modules:
            setattr(layer.attn, name, LoraLinear(getattr(layer.attn, name), cfg.r, cfg.lora_alpha))
    trainable = [p for p in model.parameters() if p.requires_grad]
    total = sum(p.numel() for p in model.parameters())
    print(f"trainable params: {sum(p.numel() for p in trainable)} || all params: {total}")
    return model, trainable


def get_batch(cfg, batch=16, length=20, prompt=5):
    start = torch.randint(0, cfg.vocab_size, (batch, 1))
    stride = torch.randint(1, 3, (batch, 1))
    ids = (start + stride * torch.arange(length)) % cfg.vocab_size
    labels = ids.clone()
    labels[:, :prompt] = -100
    return ids, labels


def main():
    torch.manual_seed(0)
    cfg = Config()
    model, trainable = get_peft_model(TinyLlama(cfg), cfg)
    optimizer = torch.optim.AdamW(trainable, lr=2e-2, weight_decay=0.0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 5))
    model.train()
    for step in range(50):
        ids, labels = get_batch(cfg)
        loss, _ = model(ids, labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trainable, 1.0)
        optimizer.step()
        scheduler.step()
        if step % 10 == 9:
            print(f"step {step + 1} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.4f}")
    model.eval()
    with torch.no_grad():
        print(f"eval loss {model(*get_batch(cfg, batch=64))[0].item():.4f}")


if __name__ == "__main__":
    main()
