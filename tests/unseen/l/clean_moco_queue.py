"""RIGHT. Momentum contrast with a queue that is overwritten in place in every step.
TRUTH: the logits are made with a clone of the queue, so the later in-place write does not touch anything saved for backward; keys come from a no_grad encoder, the key encoder's parameters are outside the optimizer on purpose and follow by moving average. LayerNorm is used, there are no running statistics to copy.
"""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def make_encoder(in_dim=20, hidden=64, dim=16):
    return nn.Sequential(nn.Linear(in_dim, hidden), nn.LayerNorm(hidden), nn.ReLU(), nn.Linear(hidden, dim))


class MoCo(nn.Module):
    def __init__(self, dim=16, K=256, m=0.95, T=0.2):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = make_encoder(dim=dim)
        self.encoder_k = copy.deepcopy(self.encoder_q)
        self.encoder_k.requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.mul_(self.m).add_(q, alpha=1 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        n = keys.shape[0]
        ptr = int(self.queue_ptr)
        assert self.K % n == 0
        self.queue[:, ptr:ptr + n] = keys.t()
        self.queue_ptr[0] = (ptr + n) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            k = F.normalize(self.encoder_k(im_k), dim=1)
        l_pos = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", q, self.queue.clone())
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        self._dequeue_and_enqueue(k)
        return logits, labels


def two_views(n, basis, gen):
    content = torch.randn(n, basis.shape[0], generator=gen) @ basis
    view = lambda: content + 0.4 * torch.randn(n, basis.shape[1], generator=gen)
    return view(), view()


@torch.no_grad()
def retrieval(model, basis, gen):
    a, b = two_views(200, basis, gen)
    sim = F.normalize(model.encoder_q(a), dim=1) @ F.normalize(model.encoder_q(b), dim=1).t()
    return (sim.argmax(1) == torch.arange(200)).float().mean().item()


def main():
    gen = torch.Generator().manual_seed(1)
    basis = torch.randn(5, 20, generator=gen) * 0.6
    model = MoCo()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.3, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
    print("retrieval before %.3f" % retrieval(model, basis, gen))
    for step in range(100):
        logits, labels = model(*two_views(64, basis, gen))
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 25 == 0 or step == 99:
            acc = (logits.argmax(1) == labels).float().mean().item()
            print("step %2d loss %.3f acc %.3f" % (step, loss.item(), acc))
    print("retrieval after %.3f" % retrieval(model, basis, gen))


if __name__ == "__main__":
    main()
