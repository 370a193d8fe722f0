"""Character-level causal transformer with a top-1 mixture-of-experts feed-forward, trained on synthetic text.

TRUTH: MoEAuxLossAutoScaler is an autograd Function which carries the load-balancing loss on its
first argument; it only acts if its return value is used downstream. The gate calls .apply() and
throws the returned tensor away, so the node is an orphan, its backward is never called, and the
auxiliary loss (printed, and finite) gives no gradient at all to the router. Symptom: the aux loss
does not go down and the experts stay unbalanced; MoEAuxLossAutoScaler.backward is never run.
Fix: `weights = MoEAuxLossAutoScaler.apply(weights, aux)`.
Drawn from NVIDIA-NeMo/Automodel#1408.
"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MoEAuxLossAutoScaler(torch.autograd.Function):
    """Attach an auxiliary loss to an activation: identity forward, gradient of one for the loss."""

    main_loss_backward_scale = 1.0

    @staticmethod
    def forward(ctx, output, aux_loss):
        ctx.save_for_backward(aux_loss)
        return output.view_as(output)

    @staticmethod
    def backward(ctx, grad_output):
        (aux_loss,) = ctx.saved_tensors
        return grad_output, torch.ones_like(aux_loss) * MoEAuxLossAutoScaler.main_loss_backward_scale


class Gate(nn.Module):
    def __init__(self, dim, n_experts, aux_loss_coeff):
        super().__init__()
        self.n_experts = n_experts
        self.aux_loss_coeff = aux_loss_coeff
        self.weight = nn.Parameter(torch.randn(n_experts, dim) * 0.02)
        self.bias = nn.Parameter(torch.linspace(0.6, -0.6, n_experts))
        self.last_aux, self.last_load = 0.0, None

    def forward(self, x):
        scores = F.softmax(F.linear(x, self.weight, self.bias), dim=-1)
        weights, indices = scores.max(dim=-1)
        load = F.one_hot(indices, self.n_experts).float().mean(0)
        self.last_load = load
        if self.training and self.aux_loss_coeff > 0:
            importance = scores.mean(0)
            aux = self.aux_loss_coeff * self.n_experts * (load * importance).sum()
            self.last_aux = aux.item()
            MoEAuxLossAutoScaler.apply(weights, aux)  # CULPRIT
        return weights, indices


class MoE(nn.Module):
    def __init__(self, dim, hidden, n_experts, aux_loss_coeff):
        super().__init__()
        self.gate = Gate(dim, n_experts, aux_loss_coeff)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim)) for _ in range(n_experts))

    def forward(self, x):
        shape = x.shape
        flat = x.reshape(-1, shape[-1])
        weights, indices = self.gate(flat)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            rows = (indices == i).nonzero(as_tuple=True)[0]
            if rows.numel():
                out = out.index_add(0, rows, expert(flat[rows]) * weights[rows].unsqueeze(-1))
        return out.view(shape)


class Block(nn.Module):
    def __init__(self, dim, heads, n_experts, coeff):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.moe = MoE(dim, 2 * dim, n_experts, coeff)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.moe(self.ln2(x))


class CharLM(nn.Module):
    def __init__(self, vocab, dim=32, heads=2, layers=2, n_experts=4, coeff=0.05, ctx=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.zeros(1, ctx, dim))
        self.blocks = nn.ModuleList(Block(dim, heads, n_experts, coeff) for _ in range(layers))
        self.ln = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx):
        x = self.tok(idx) + self.pos[:, :idx.size(1)]
        for blk in self.blocks:
            x = blk(x)
        return self.head(self.ln(x))


def markov_text(n, vocab, gen):
    table = torch.softmax(torch.randn(vocab, vocab, generator=gen) * 2.0, dim=-1)
    out = [0]
    for _ in range(n - 1):
        out.append(torch.multinomial(table[out[-1]], 1, generator=gen).item())
    return torch.tensor(out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=150)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--aux-loss-coeff", type=float, default=0.05)
    args = p.parse_args()
    torch.manual_seed(1337)
    gen = torch.Generator().manual_seed(7)
    vocab, ctx = 24, 32
    data = markov_text(6000, vocab, gen)
    model = CharLM(vocab, coeff=args.aux_loss_coeff, ctx=ctx)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
    for step in range(args.steps):
        ix = torch.randint(0, len(data) - ctx - 1, (args.batch,), generator=gen)
        x = torch.stack([data[i:i + ctx] for i in ix])
        y = torch.stack([data[i + 1:i + ctx + 1] for i in ix])
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 25 == 0 or step == args.steps - 1:
            g = model.blocks[0].moe.gate
            print(f"step {step:4d} loss {loss.item():.4f} ppl {math.exp(loss.item()):7.2f} "
                  f"aux {g.last_aux:.4f} load {[round(v, 2) for v in g.last_load.tolist()]}")


if __name__ == "__main__":
    main()
