"""Two-task recommender (click and watch time), shared embeddings, conflicting gradients projected as in PCGrad.

TRUTH: correct: the shared graph is used twice, which is why retain_graph is set in the first autograd.grad only; the .grad fields of the
shared parameters are written by hand from the projected gradients before step(), those of the heads come from their own
loss; allow_unused gives None for the other task's head and is handled. Both losses fall.
"""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SharedBottom(nn.Module):
    def __init__(self, n_users, n_items, dim=8, hid=32):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.trunk = nn.Sequential(nn.Linear(3 * dim, hid), nn.ReLU())
        self.click = nn.Linear(hid, 1)
        self.watch = nn.Linear(hid, 1)

    def shared_parameters(self):
        return [*self.user.parameters(), *self.item.parameters(), *self.trunk.parameters()]

    def head_parameters(self):
        return [*self.click.parameters(), *self.watch.parameters()]

    def forward(self, u, i):
        eu, ei = self.user(u), self.item(i)
        h = self.trunk(torch.cat([eu, ei, eu * ei], -1))
        return self.click(h).squeeze(-1), self.watch(h).squeeze(-1)


class PCGrad:
    def __init__(self, optimizer, model):
        self.optimizer = optimizer
        self.shared, self.heads = model.shared_parameters(), model.head_parameters()
        self.conflicts = self.calls = 0

    def _flat(self, grads, params):
        return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in zip(grads, params)])

    def backward(self, losses):
        params = self.shared + self.heads
        k = len(self.shared)
        per_task, head_grads = [], [None] * len(self.heads)
        for t, loss in enumerate(losses):
            grads = torch.autograd.grad(loss, params, retain_graph=t < len(losses) - 1, allow_unused=True)
            per_task.append(self._flat(grads[:k], self.shared))
            for j, g in enumerate(grads[k:]):
                if g is not None:
                    head_grads[j] = g if head_grads[j] is None else head_grads[j] + g
        projected = [g.clone() for g in per_task]
        order = list(range(len(losses)))
        for i, g in enumerate(projected):
            random.shuffle(order)
            for j in order:
                if j == i:
                    continue
                dot = torch.dot(g, per_task[j])
                self.calls += 1
                if dot < 0:
                    self.conflicts += 1
                    g -= dot / per_task[j].pow(2).sum() * per_task[j]
        merged = torch.stack(projected).sum(0)
        offset = 0
        for p in self.shared:
            p.grad = merged[offset:offset + p.numel()].view_as(p).clone()
            offset += p.numel()
        for p, g in zip(self.heads, head_grads):
            p.grad = g

    def step(self):
        self.optimizer.step()


def make_logs(n, n_users, n_items, seed):
    g = torch.Generator().manual_seed(100)
    pu, qi = torch.randn(n_users, 4, generator=g), torch.randn(n_items, 4, generator=g)
    flip = torch.tensor([1.0, 1.0, -1.0, -0.5])
    g = torch.Generator().manual_seed(seed)
    u, i = torch.randint(0, n_users, (n,), generator=g), torch.randint(0, n_items, (n,), generator=g)
    click = (torch.rand(n, generator=g) < torch.sigmoid(1.5 * (pu[u] * qi[i]).sum(-1))).float()
    watch = (pu[u] * qi[i] * flip).sum(-1) + 0.2 * torch.randn(n, generator=g)
    return TensorDataset(u, i, click, watch)


@torch.no_grad()
def evaluate(model, ds):
    model.eval()
    u, i, c, w = ds.tensors
    pc, pw = model(u, i)
    return F.binary_cross_entropy_with_logits(pc, c).item(), F.mse_loss(pw, w).item()


def main():
    random.seed(0)
    torch.manual_seed(0)
    n_users, n_items = 60, 40
    train, test = make_logs(5000, n_users, n_items, 1), make_logs(1000, n_users, n_items, 2)
    model = SharedBottom(n_users, n_items)
    pc = PCGrad(torch.optim.Adam(model.parameters(), lr=4e-3), model)
    loader = DataLoader(train, batch_size=128, shuffle=True)
    print("start: bce %.4f mse %.4f" % evaluate(model, test))
    for epoch in range(1, 13):
        model.train()
        for u, i, c, w in loader:
            logit, watch = model(u, i)
            pc.backward([F.binary_cross_entropy_with_logits(logit, c), F.mse_loss(watch, w)])
            pc.step()
        if epoch % 3 == 0:
            bce, mse = evaluate(model, test)
            print(f"epoch {epoch:2d} test bce {bce:.4f} mse {mse:.4f} conflicts {pc.conflicts / pc.calls:.2f}")


if __name__ == "__main__":
    main()
