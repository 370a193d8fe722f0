"""discuss.pytorch.org, "MoCo queue: modified by an inplace operation [128, 16] is at version 1"
Symptom: raises in backward, the queue is only a buffer without gradient.
EXPECT: raises RuntimeError
TRUTH: The logits are computed with the queue itself, matmul saves it for the query's gradient, and the enqueue overwrites it in
place before backward. Use queue.clone().detach() in the logits (or enqueue after backward)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MoCo(nn.Module):
    def __init__(self, dim=16, size=128):
        super().__init__()
        self.q = nn.Linear(12, dim)
        self.k = nn.Linear(12, dim)
        self.k.load_state_dict(self.q.state_dict())
        self.k.requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(size, dim), dim=1))
        self.ptr = 0

    @torch.no_grad()
    def enqueue(self, keys):
        n = len(keys)
        self.queue[self.ptr:self.ptr + n] = keys  # CULPRIT
        self.ptr = (self.ptr + n) % len(self.queue)

    @torch.no_grad()
    def momentum(self, m=0.99):
        for a, b in zip(self.k.parameters(), self.q.parameters()):
            a.mul_(m).add_(b, alpha=1 - m)

    def forward(self, x1, x2):
        q = F.normalize(self.q(x1), dim=1)
        with torch.no_grad():
            self.momentum()
            k = F.normalize(self.k(x2), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.t()  # CULPRIT
        logits = torch.cat([pos, neg], 1) / 0.2
        self.enqueue(k)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


model = MoCo()
opt = torch.optim.SGD(model.q.parameters(), lr=0.1)
for it in range(40):
    x = torch.randn(32, 12)
    loss = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
