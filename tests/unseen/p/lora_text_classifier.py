"""Parameter-efficient fine-tuning: low-rank adapters by name on a pretrained recurrent text classifier.

TRUTH: the adapters are injected under the name given by the user ("topic"), but the function which decides
what is trainable is called without the name and falls back on "default"; all lora_A.topic / lora_B.topic
parameters are frozen along with the base. Only the classifier head stays trainable. Symptom: all lora
parameters have requires_grad False and no gradient, lora_B is exactly zero after fine-tuning, accuracy
on the new task stays at what the head alone reaches. Fix: pass adapter_name on.
Drawn from huggingface/peft#1410.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LoraLinear(nn.Module):
    def __init__(self, base, adapter_name, r, alpha):
        super().__init__()
        self.base = base
        self.scaling = {adapter_name: alpha / r}
        self.lora_A = nn.ModuleDict({adapter_name: nn.Linear(base.in_features, r, bias=False)})
        self.lora_B = nn.ModuleDict({adapter_name: nn.Linear(r, base.out_features, bias=False)})
        nn.init.kaiming_uniform_(self.lora_A[adapter_name].weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B[adapter_name].weight)
        self.active = adapter_name

    def forward(self, x):
        y = self.base(x)
        return y + self.lora_B[self.active](self.lora_A[self.active](x)) * self.scaling[self.active]


def mark_only_adapters_as_trainable(model, adapter_name="default", modules_to_save=("classifier",)):
    for n, p in model.named_parameters():
        is_adapter = "lora_" in n and f".{adapter_name}." in n
        p.requires_grad = is_adapter or any(n.startswith(m) for m in modules_to_save)


def get_peft_model(model, target_modules, r=8, alpha=16, adapter_name="default"):
    for name, module in list(model.named_modules()):
        for child_name, child in list(module.named_children()):
            if child_name in target_modules and isinstance(child, nn.Linear):
                setattr(module, child_name, LoraLinear(child, adapter_name, r, alpha))
    mark_only_adapters_as_trainable(model)  # CULPRIT
    return model


def print_trainable_parameters(model):
    train = sum(p.numel() for p in model.parameters() if p.requires_grad)
    total = sum(p.numel() for p in model.parameters())
    print(f"trainable params: {train:,} || all params: {total:,} || trainable%: {100 * train / total:.2f}")


class GatedCell(nn.Module):
    """Minimal gated unit written with plain linear layers."""

    def __init__(self, dim):
        super().__init__()
        self.gate_proj = nn.Linear(2 * dim, dim)
        self.cand_proj = nn.Linear(2 * dim, dim)

    def forward(self, x, h):
        z = torch.sigmoid(self.gate_proj(torch.cat([x, h], -1)))
        c = torch.tanh(self.cand_proj(torch.cat([x, z * h], -1)))
        return (1 - z) * h + z * c


class TextClassifier(nn.Module):
    def __init__(self, vocab=40, dim=32, n_class=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.cell = GatedCell(dim)
        self.classifier = nn.Linear(dim, n_class)

    def forward(self, ids):
        x = self.embed(ids)
        h = torch.zeros_like(x[:, 0])
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
        return self.classifier(h)


def pretrain_batch(n, gen):
    """Source task: which of four marker words (0..3) is in the sentence."""
    ids = torch.randint(8, 40, (n, 10), generator=gen)
    y = torch.randint(0, 4, (n,), generator=gen)
    ids[torch.arange(n), torch.randint(0, 10, (n,), generator=gen)] = y
    return ids, y


def topic_batch(n, gen):
    """New task: other markers (4..7), two of them, the later one decides."""
    ids = torch.randint(8, 40, (n, 10), generator=gen)
    first, second = (torch.randint(0, 4, (n,), generator=gen) for _ in range(2))
    ids[torch.arange(n), torch.randint(0, 5, (n,), generator=gen)] = first + 4
    ids[torch.arange(n), torch.randint(5, 10, (n,), generator=gen)] = second + 4
    return ids, second


def fit(model, make_batch, steps, lr, gen, tag):
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr, weight_decay=0.01)
    for step in range(1, steps + 1):
        ids, y = make_batch(64, gen)
        loss = F.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        opt.step()
        if step % (steps // 5) == 0:
            with torch.no_grad():
                ids, y = make_batch(1000, gen)
                acc = (model(ids).argmax(-1) == y).float().mean().item()
            print(f"[{tag}] step {step:4d} loss {loss.item():.4f} acc {acc:.3f}")


torch.manual_seed(17)
gen = torch.Generator().manual_seed(2)
model = TextClassifier()
fit(model, pretrain_batch, 200, 5e-3, gen, "pretrain")
model = get_peft_model(model, {"gate_proj", "cand_proj"}, adapter_name="topic")
print_trainable_parameters(model)
fit(model, topic_batch, 400, 5e-3, gen, "finetune")
