"""WRONG. A small LM is trained with max_norm 1.0, but the updates are as wild as without clipping: the norm of the gradients measured
after the clipping helper is the same as before it.
TRUTH: the helper receives the generator model.parameters(), consumes it for the total norm and hands the empty generator to
clip_grads_with_norm_; do parameters = list(parameters) first in the helper (or pass a list).
THREAD: https://github.com/pytorch/torchtitan/pull/1258
"""
import warnings
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.filterwarnings("ignore")


@torch.no_grad()
def dist_clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    grads = [p.grad for p in parameters if p.grad is not None]  # CULPRIT
    total_norm = torch.nn.utils.get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    torch.nn.utils.clip_grads_with_norm_(parameters, max_norm, total_norm, foreach)
    return total_norm


@dataclass
class JobConfig:
    vocab: int = 20
    dim: int = 32
    hidden: int = 64
    n_layers: int = 2
    seq_len: int = 16
    batch: int = 16
    lr: float = 1.0
    max_norm: float = 1.0
    warmup: int = 5
    steps: int = 40
    decay: float = 0.5
    log_every: int = 10


@dataclass
class Metrics:
    rows: list = field(default_factory=list)

    def log(self, **kw):
        self.rows.append(kw)
        print("  ".join(f"{k} {v:.4g}" for k, v in kw.items()))


class FeedForward(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class TransformerBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.wqkv = nn.Linear(cfg.dim, 3 * cfg.dim, bias=False)
        self.wo = nn.Linear(cfg.dim, cfg.dim, bias=False)
        self.ffn = FeedForward(cfg.dim, cfg.hidden)
        self.n1, self.n2 = nn.LayerNorm(cfg.dim), nn.LayerNorm(cfg.dim)

    def forward(self, x):
        q, k, v = self.wqkv(self.n1(x)).chunk(3, dim=-1)
        h = x + self.wo(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return h + self.ffn(self.n2(h))


class Transformer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Parameter(0.02 * torch.randn(cfg.seq_len, cfg.dim))
        self.blocks = nn.Sequential(*[TransformerBlock(cfg) for _ in range(cfg.n_layers)])
        self.out = nn.Linear(cfg.dim, cfg.vocab, bias=False)

    def forward(self, ids):
        return self.out(self.blocks(self.tok(ids) + self.pos[:ids.size(1)]))


def data_iterator(cfg):
    while True:
        start = torch.randint(0, cfg.vocab, (cfg.batch, 1))
        step = torch.randint(1, 4, (cfg.batch, 1))
        yield (start + step * torch.arange(cfg.seq_len + 1)) % cfg.vocab


def lr_lambda(cfg):
    def fn(step):
        if step < cfg.warmup:
            return (step + 1) / cfg.warmup
        return 1.0 - cfg.decay * (step - cfg.warmup) / (cfg.steps - cfg.warmup)
    return fn


def current_norm(model):
    return torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm().item()


def main():
    torch.manual_seed(0)
    cfg = JobConfig()
    model = Transformer(cfg)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda(cfg))
    metrics, data = Metrics(), data_iterator(cfg)
    for step in range(cfg.steps):
        ids = next(data)
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        grad_norm = dist_clip_grad_norm_(model.parameters(), cfg.max_norm, foreach=True)  # CULPRIT
        used = current_norm(model)
        optimizer.step()
        scheduler.step()
        if step % cfg.log_every == cfg.log_every - 1 or step == 0:
            metrics.log(step=step + 1, loss=loss.item(), grad_norm=grad_norm.item(), grad_norm_used=used,
                        lr=scheduler.get_last_lr()[0])
    worst = max(r["loss"] for r in metrics.rows)
    print(f"worst logged loss {worst:.3f}, final {metrics.rows[-1]['loss']:.3f}")


if __name__ == "__main__":
    main()
