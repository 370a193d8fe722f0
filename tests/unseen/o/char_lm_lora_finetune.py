"""Fine-tunes a small character LM with LoRA on a second corpus, with gradient checkpointing to save memory.

TRUTH: The reentrant checkpoint needs an input that requires grad; after freezing, the embedding output does not, so the
checkpointed blocks give no gradient to their LoRA matrices and only the lm_head (outside of the blocks) learns. Symptom:
all lora_B stay exactly zero and the loss stalls higher (a UserWarning "None of the inputs have requires_grad" at most).
Fix: use_reentrant=False, or make the embedding output require grad. Drawn from cloneofsimo/lora#26, huggingface/peft#1142.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(1337)
BLOCK, D, HEADS, LAYERS = 24, 48, 4, 2
chars = "abcdefghij "
stoi = {c: i for i, c in enumerate(chars)}


def make_corpus(words, n, seed):
    g = torch.Generator().manual_seed(seed)
    text = " ".join(words[i] for i in torch.randint(0, len(words), (n,), generator=g).tolist())
    return torch.tensor([stoi[c] for c in text])


def get_batch(data, bs, g):
    ix = torch.randint(0, len(data) - BLOCK - 1, (bs,), generator=g)
    x = torch.stack([data[i:i + BLOCK] for i in ix])
    y = torch.stack([data[i + 1:i + BLOCK + 1] for i in ix])
    return x, y


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv = nn.Linear(D, 3 * D)
        self.proj = nn.Linear(D, D)
        self.fc1, self.fc2 = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

    def forward(self, x):
        B, T, _ = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(B, T, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(B, T, D))
        return x + self.fc2(F.gelu(self.fc1(self.ln2(x))))


class CharLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(len(chars), D), nn.Embedding(BLOCK, D)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(D)
        self.lm_head = nn.Linear(D, len(chars))
        self.gradient_checkpointing = False

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))  # CULPRIT
        for block in self.h:
            if self.gradient_checkpointing and self.training:
                x = checkpoint(block, x, use_reentrant=True)  # CULPRIT
            else:
                x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))


def fit(model, params, data, steps, lr, tag):
    g = torch.Generator().manual_seed(11)
    opt = torch.optim.AdamW(params, lr=lr)
    model.train()
    for step in range(1, steps + 1):
        loss = model(*get_batch(data, 16, g))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % (steps // 3) == 0:
            print(f"{tag} step {step:4d} loss {loss.item():.4f}")


def add_lora(model):
    for p in model.parameters():
        p.requires_grad = False
    for block in model.h:
        block.qkv = LoRALinear(block.qkv)
        block.proj = LoRALinear(block.proj)
        block.fc1 = LoRALinear(block.fc1)
    model.lm_head.requires_grad_(True)
    return [p for p in model.parameters() if p.requires_grad]


if __name__ == "__main__":
    base = make_corpus(["abcde", "fghij", "aceg", "bdfh"], 800, 1)
    new = make_corpus(["jihgf", "edcba", "ajbi", "chdg", "eeff"], 800, 2)
    model = CharLM()
    fit(model, model.parameters(), base, 90, 3e-3, "pretrain")

    trainable = add_lora(model)
    model.gradient_checkpointing = True
    n_all = sum(p.numel() for p in model.parameters())
    print(f"trainable params: {sum(p.numel() for p in trainable)} of {n_all}")
    fit(model, trainable, new, 150, 3e-3, "finetune")

    model.eval()
    with torch.no_grad():
        ev = sum(model(*get_batch(new, 32, torch.Generator().manual_seed(s))).item() for s in range(5)) / 5
    norms = {n: round(p.norm().item(), 4) for n, p in model.named_parameters() if "lora_B" in n}
    print("eval loss %.4f" % ev)
    print(norms)
