"""Fine-tuning trainer for a small tied-embedding transformer LM: frozen lower blocks, autocast, accumulation, EMA.

TRUTH: correct: the output projection shares the Parameter of the token embedding (one entry in the optimizer,
gradient from both uses). Lower blocks and positions are frozen and stay in eval mode (train() is
overridden), so they have no .grad and unchanged weights by design; the dropout of the upper block is active.
The loss is a token sum divided by the token count of the whole accumulation group, so groups with unequal
and short last batches are weighted right. GradScaler is made with enabled=False (bfloat16 on CPU needs no
scaling), and its calls are no-ops. EMA weights are swapped in for validation and swapped back.
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

IGNORE = -100


class TinyLM(nn.Module):
    def __init__(self, vocab=32, dim=32, n_blocks=3, ctx=20, frozen_blocks=2):
        super().__init__()
        self.frozen_blocks = frozen_blocks
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(ctx, dim)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.1, batch_first=True, norm_first=True)
            for _ in range(n_blocks))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.tok.weight
        nn.init.normal_(self.tok.weight, std=0.08)

    def freeze_lower(self):
        self.pos.requires_grad_(False)
        for blk in self.blocks[:self.frozen_blocks]:
            blk.requires_grad_(False)
        self.train(self.training)

    def train(self, mode=True):
        super().train(mode)
        for blk in self.blocks[:self.frozen_blocks]:
            if not next(blk.parameters()).requires_grad:
                blk.eval()
        return self

    def forward(self, ids):
        n = ids.size(1)
        mask = torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
        x = self.tok(ids) + self.pos(torch.arange(n))
        for blk in self.blocks:
            x = blk(x, src_mask=mask)
        return self.head(self.norm(x))


def corpus(n, step, seed):
    """Counting sequences with a fixed step, of different lengths; padded targets are ignored."""
    g = torch.Generator().manual_seed(seed)
    out = []
    for _ in range(n):
        length = int(torch.randint(8, 20, (1,), generator=g))
        ids = (int(torch.randint(1, 31, (1,), generator=g)) + step * torch.arange(length)) % 31 + 1
        noise = torch.rand(length, generator=g) < 0.05
        ids[noise] = torch.randint(1, 32, (int(noise.sum()),), generator=g)
        out.append(ids)
    return out


def collate(seqs):
    width = max(len(s) for s in seqs) - 1
    x, y = torch.zeros(len(seqs), width, dtype=torch.long), torch.full((len(seqs), width), IGNORE)
    for i, s in enumerate(seqs):
        x[i, :len(s) - 1], y[i, :len(s) - 1] = s[:-1], s[1:]
    return x, y


class Trainer:
    def __init__(self, model, lr, accum=4, ema_decay=0.95, batch=24):
        self.model, self.accum, self.ema_decay, self.batch = model, accum, ema_decay, batch
        params = [p for p in model.parameters() if p.requires_grad]
        self.opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.01)
        self.scaler = torch.amp.GradScaler("cpu", enabled=False)
        self.ema = [p.detach().clone() for p in model.parameters()]

    def token_loss(self, x, y, reduction="sum"):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(x)
        return F.cross_entropy(logits.float().flatten(0, 1), y.flatten(), ignore_index=IGNORE, reduction=reduction)

    def step(self, group):
        tokens = sum((y != IGNORE).sum().item() for _, y in group)
        total = 0.0
        for x, y in group:
            loss = self.token_loss(x, y) / tokens
            self.scaler.scale(loss).backward()
            total += loss.item()
        self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_((p for p in self.model.parameters() if p.grad is not None), 1.0)
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad(set_to_none=True)
        with torch.no_grad():
            for e, p in zip(self.ema, self.model.parameters()):
                e.mul_(self.ema_decay).add_(p, alpha=1 - self.ema_decay)
        return total

    @torch.no_grad()
    def swap(self):
        for e, p in zip(self.ema, self.model.parameters()):
            tmp = p.clone()
            p.copy_(e)
            e.copy_(tmp)

    @torch.no_grad()
    def validate(self, data):
        self.swap()
        self.model.eval()
        val = self.token_loss(*collate(data), reduction="mean").item()
        self.model.train()
        self.swap()
        return val

    def fit(self, train, val, epochs, tag):
        for epoch in range(1, epochs + 1):
            order = torch.randperm(len(train)).split(self.batch)
            batches = [collate([train[i] for i in idx.tolist()]) for idx in order]
            losses = [self.step(batches[i:i + self.accum]) for i in range(0, len(batches), self.accum)]
            print(f"[{tag}] epoch {epoch} train {sum(losses) / len(losses):.4f} val(ema) {self.validate(val):.4f}")


if __name__ == "__main__":
    torch.manual_seed(2)
    lm = TinyLM()
    Trainer(lm, lr=6e-3, accum=1).fit(corpus(400, 3, 1), corpus(60, 3, 2), 5, "pretrain")
    lm.freeze_lower()
    before = copy.deepcopy(lm.blocks[0].state_dict())
    Trainer(lm, lr=4e-3).fit(corpus(500, 5, 3), corpus(60, 5, 4), 6, "finetune")
    same = all(torch.equal(v, before[k]) for k, v in lm.blocks[0].state_dict().items())
    print(f"lower block unchanged: {same}")
