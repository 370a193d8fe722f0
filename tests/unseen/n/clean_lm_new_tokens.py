"""RIGHT. Fine-tuning of a small causal language model: only the rows of newly added tokens of the tied embedding are trained, the rest is frozen, padding is ignored.
TRUTH: a gradient hook zeroes the old rows and the optimizer has no weight decay or momentum carried from elsewhere, so these rows stay bit for bit; embedding and output share one parameter on purpose (listed once); the loss is a sum divided by the number of real target tokens of the whole accumulated batch.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

OLD, NEW, PAD = 20, 4, 0
VOCAB = OLD + NEW


class TinyLM(nn.Module):
    def __init__(self, vocab, dim=32, heads=4, max_len=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max_len, dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.ln1, self.ln2, self.ln3 = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.emb.weight
        self.heads = heads
        nn.init.normal_(self.emb.weight, std=0.1)

    def forward(self, ids):
        b, t = ids.shape
        x = self.emb(ids) + self.pos(torch.arange(t))
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(att.transpose(1, 2).reshape(b, t, -1))
        x = x + self.mlp(self.ln2(x))
        return self.head(self.ln3(x))


def make_batch(n, lo, hi, length=10):
    start = torch.randint(lo, hi, (n, 1))
    ids = lo + (start - lo + torch.arange(length)) % (hi - lo)
    lengths = torch.randint(5, length + 1, (n, 1))
    return torch.where(torch.arange(length) < lengths, ids, torch.full_like(ids, PAD))


def lm_loss_sum(model, ids):
    logits = model(ids[:, :-1])
    target = ids[:, 1:]
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), target.reshape(-1), ignore_index=PAD, reduction="sum")
    return loss, (target != PAD).sum()


def train(model, params, lo, hi, steps, lr, micro=2):
    opt = torch.optim.Adam(params, lr=lr)
    last = None
    for step in range(steps):
        batches = [make_batch(12, lo, hi) for _ in range(micro)]
        n_tokens = sum((b[:, 1:] != PAD).sum() for b in batches)
        opt.zero_grad()
        total = 0.0
        for b in batches:
            loss, _ = lm_loss_sum(model, b)
            (loss / n_tokens).backward()
            total += loss.item()
        opt.step()
        last = total / n_tokens.item()
    return last


@torch.no_grad()
def perplexity(model, lo, hi):
    loss, n = lm_loss_sum(model, make_batch(64, lo, hi))
    return (loss / n).exp().item()


def main():
    model = TinyLM(VOCAB)
    loss = train(model, model.parameters(), 1, OLD, 60, 1e-2)
    print(f"pretraining loss {loss:.3f} ppl old {perplexity(model, 1, OLD):.2f} new {perplexity(model, OLD, VOCAB):.2f}")

    model.requires_grad_(False)
    weight = model.emb.weight.requires_grad_(True)
    new_rows = torch.zeros(VOCAB, 1)
    new_rows[OLD:] = 1.0
    handle = weight.register_hook(lambda g: g * new_rows)
    before = weight.detach().clone()
    loss = train(model, [weight], OLD, VOCAB, 60, 3e-2)
    handle.remove()
    changed = (weight.detach() - before).abs().amax(1) > 0
    print(f"fine-tuning loss {loss:.3f} ppl new {perplexity(model, OLD, VOCAB):.2f}")
    print(f"old rows changed {int(changed[:OLD].sum())} new rows changed {int(changed[OLD:].sum())}")


if __name__ == "__main__":
    main()
