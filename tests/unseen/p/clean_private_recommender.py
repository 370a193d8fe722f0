"""Matrix-factorization recommender trained with per-example clipped, noised gradients (DP-SGD), updates by hand.

TRUTH: correct: every example's gradient is taken separately with torch.func (vmap of grad over a functional
call), clipped to norm C over all parameters together, summed, noised and divided by the lot size; the
result is written to the parameters under no_grad with a hand-made momentum buffer, so p.grad is None for
the whole run and there is no optimizer and no backward() on purpose. Only the evaluation calls the module.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad_and_value, vmap


class MF(nn.Module):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.users = nn.Parameter(torch.randn(n_users, dim) * 0.3)
        self.items = nn.Parameter(torch.randn(n_items, dim) * 0.3)
        self.item_bias = nn.Parameter(torch.zeros(n_items, 1))
        self.mean = nn.Parameter(torch.zeros(()))

    def forward(self, u, i):
        bias = F.embedding(i, self.item_bias).squeeze(-1)
        return self.mean + bias + (F.embedding(u, self.users) * F.embedding(i, self.items)).sum(-1)


class PrivateTrainer:
    def __init__(self, model, lr=4.0, momentum=0.5, clip=0.5, noise_multiplier=0.1, seed=0):
        self.model = model
        self.lr, self.momentum, self.clip, self.noise_multiplier = lr, momentum, clip, noise_multiplier
        self.velocity = {n: torch.zeros_like(p) for n, p in model.named_parameters()}
        self.gen = torch.Generator().manual_seed(seed)
        self.per_example = vmap(grad_and_value(self.example_loss), in_dims=(None, 0, 0, 0))

    def example_loss(self, params, u, i, r):
        pred = functional_call(self.model, params, (u, i))
        return (pred - r) ** 2

    def step(self, u, i, r):
        params = {n: p.detach() for n, p in self.model.named_parameters()}
        grads, losses = self.per_example(params, u, i, r)
        sq = sum(g.flatten(1).pow(2).sum(1) if g.dim() > 1 else g.pow(2) for g in grads.values())
        norms = sq.sqrt()
        factor = (self.clip / (norms + 1e-6)).clamp(max=1.0)
        with torch.no_grad():
            for n, p in self.model.named_parameters():
                g = torch.einsum("b,b...->...", factor, grads[n])
                g = g + self.noise_multiplier * self.clip * torch.randn(g.shape, generator=self.gen)
                self.velocity[n].mul_(self.momentum).add_(g / len(u))
                p.sub_(self.lr * self.velocity[n])
        return losses.mean().item(), (norms > self.clip).float().mean().item()


def ratings(n, n_users, n_items, seed):
    g = torch.Generator().manual_seed(seed)
    pu = torch.randn(n_users, 3, generator=torch.Generator().manual_seed(77)) * 0.8
    qi = torch.randn(n_items, 3, generator=torch.Generator().manual_seed(78)) * 0.8
    u = torch.randint(0, n_users, (n,), generator=g)
    i = torch.randint(0, n_items, (n,), generator=g)
    r = 1.5 + (pu[u] * qi[i]).sum(-1) + 0.2 * torch.randn(n, generator=g)
    return u, i, r


def main():
    torch.manual_seed(6)
    n_users, n_items, lot = 40, 30, 128
    u, i, r = ratings(4096, n_users, n_items, seed=1)
    tu, ti, tr = ratings(800, n_users, n_items, seed=2)
    model = MF(n_users, n_items, dim=4)
    trainer = PrivateTrainer(model)
    for epoch in range(1, 11):
        losses, clipped = [], []
        for idx in torch.randperm(len(u), generator=trainer.gen).split(lot):
            loss, frac = trainer.step(u[idx], i[idx], r[idx])
            losses.append(loss)
            clipped.append(frac)
        with torch.no_grad():
            rmse = F.mse_loss(model(tu, ti), tr).sqrt().item()
        if epoch % 2 == 0:
            print(f"epoch {epoch:2d} mse {sum(losses) / len(losses):.4f} test rmse {rmse:.4f} "
                  f"clipped {100 * sum(clipped) / len(clipped):.0f}%")


if __name__ == "__main__":
    main()
