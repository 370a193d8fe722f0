# kind: optimizer_never_steps
"""Ratings from sparse user/item tables and a dense scorer, each with an optimizer of its own."""
import torch
from torch import nn
import torch.nn.functional as F


class RatingModel(nn.Module):
    def __init__(self, n_users, n_items, dim=16):
        super().__init__()
        self.users = nn.Embedding(n_users, dim, sparse=True)
        self.items = nn.Embedding(n_items, dim, sparse=True)
        for table in (self.users, self.items):
            nn.init.normal_(table.weight, std=0.1)
        self.scorer = nn.Sequential(nn.Linear(3 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, user, item):
        u, v = self.users(user), self.items(item)
        return self.scorer(torch.cat([u, v, u * v], dim=-1)).squeeze(-1)


class OptimizerBundle:
    """Behaves like one optimizer for the code of the loop."""

    def __init__(self, **members):
        self.members = members

    def zero_grad(self):
        for opt in self.members.values():
            opt.zero_grad()

    def step(self):
        for name in ("dense",):  # CULPRIT
            self.members[name].step()


def make_optimizers(model, lr_dense=3e-3, lr_sparse=1e-2):
    tables = [m.weight for m in model.modules() if isinstance(m, nn.Embedding)]
    return OptimizerBundle(
        dense=torch.optim.AdamW(model.scorer.parameters(), lr=lr_dense),
        sparse=torch.optim.SparseAdam(tables, lr=lr_sparse),
    )


def ratings(n, n_users, n_items, dim=3):
    gen = torch.Generator().manual_seed(6)
    taste, trait = torch.randn(n_users, dim, generator=gen), torch.randn(n_items, dim, generator=gen)
    user = torch.randint(n_users, (n,), generator=gen)
    item = torch.randint(n_items, (n,), generator=gen)
    score = (taste[user] * trait[item]).sum(-1) / dim ** 0.5
    return user, item, score + 0.1 * torch.randn(n, generator=gen)


def main(n_users=80, n_items=60):
    torch.manual_seed(0)
    user, item, score = ratings(4096, n_users, n_items)
    model = RatingModel(n_users, n_items)
    optimizers = make_optimizers(model)
    before = model.users.weight.detach().clone()
    for epoch in range(12):
        total = 0.0
        for pick in torch.randperm(len(user)).split(128):
            loss = F.mse_loss(model(user[pick], item[pick]), score[pick])
            optimizers.zero_grad()
            loss.backward()
            optimizers.step()
            total += loss.item() * len(pick)
        if epoch % 3 == 2:
            print(f"epoch {epoch}: mse {total / len(user):.3f} (variance {score.var().item():.3f})")
    print("change of the user table", (model.users.weight.detach() - before).abs().mean().item())


if __name__ == "__main__":
    main()
