"""RIGHT. Contrastive user/item retrieval with a momentum encoder and a queue of negatives that is overwritten in place in every step.
TRUTH: the keys come from the momentum encoder under no_grad; the logits use a clone of the queue, so the in-place enqueue does not touch a tensor saved for backward; the query encoder alone is optimized, same-item negatives are masked with -inf (the positive column always stays finite).
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

ITEMS, DIM, QUEUE, BATCH = 40, 12, 64, 16


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, DIM))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class MoCo(nn.Module):
    def __init__(self, m=0.9, temperature=0.2):
        super().__init__()
        self.encoder_q = Tower()
        self.encoder_k = copy.deepcopy(self.encoder_q)
        self.encoder_k.requires_grad_(False)
        self.m, self.t = m, temperature
        self.register_buffer("queue", F.normalize(torch.randn(QUEUE, DIM), dim=1))
        self.register_buffer("queue_ids", torch.full((QUEUE,), -1))
        self.ptr = 0

    @torch.no_grad()
    def momentum_update(self):
        for k, q in zip(self.encoder_k.parameters(), self.encoder_q.parameters()):
            k.mul_(self.m).add_(q, alpha=1 - self.m)

    @torch.no_grad()
    def enqueue(self, keys, ids):
        idx = (self.ptr + torch.arange(len(keys))) % QUEUE
        self.queue[idx] = keys
        self.queue_ids[idx] = ids
        self.ptr = (self.ptr + len(keys)) % QUEUE

    def forward(self, view_q, view_k, ids):
        q = self.encoder_q(view_q)
        with torch.no_grad():
            self.momentum_update()
            k = self.encoder_k(view_k)
        l_pos = (q * k).sum(1, keepdim=True)
        l_neg = q @ self.queue.clone().t()
        l_neg = l_neg.masked_fill(ids.unsqueeze(1) == self.queue_ids.unsqueeze(0), float("-inf"))
        logits = torch.cat([l_pos, l_neg], dim=1) / self.t
        self.enqueue(k, ids)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


def views(prototypes, ids):
    base = prototypes[ids]
    return base + 0.4 * torch.randn_like(base), base + 0.4 * torch.randn_like(base)


@torch.no_grad()
def recall_at_1(model, prototypes):
    ids = torch.arange(ITEMS)
    a, b = views(prototypes, ids)
    sim = model.encoder_q(a) @ model.encoder_q(b).t()
    return (sim.argmax(1) == ids).float().mean().item()


def main():
    nuisance = torch.randn(20)
    prototypes = torch.randn(ITEMS, 20) + 2.0 * nuisance
    model = MoCo()
    opt = torch.optim.AdamW(model.encoder_q.parameters(), lr=5e-3, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=150)
    print(f"recall before {recall_at_1(model, prototypes):.3f}")
    for step in range(150):
        ids = torch.randperm(ITEMS)[:BATCH]
        loss = model(*views(prototypes, ids), ids)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 30 == 29:
            print(f"step {step + 1} loss {loss.item():.4f} recall {recall_at_1(model, prototypes):.3f}")


if __name__ == "__main__":
    main()
