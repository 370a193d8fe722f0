"""RIGHT. Matrix factorization with BPR, sparse embedding gradients, a projection of the rows after every step and hard negatives.
TRUTH: SparseAdam handles the sparse gradients and a second optimizer the dense ones; negatives are chosen under no_grad (the choice is not
differentiable, their scores are computed again with a graph); the projection writes in place under no_grad after the step.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class BPRMF(nn.Module):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.user = nn.Embedding(n_users, dim, sparse=True)
        self.item = nn.Embedding(n_items, dim, sparse=True)
        self.item_bias = nn.Embedding(n_items, 1, sparse=True)
        self.mix = nn.Linear(dim, dim, bias=False)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        nn.init.zeros_(self.item_bias.weight)
        nn.init.eye_(self.mix.weight)

    def score(self, users, items):
        u = self.mix(self.user(users))
        if items.dim() == 2:
            u = u.unsqueeze(1)
        return (u * self.item(items)).sum(-1) + self.item_bias(items).squeeze(-1)

    def all_scores(self, users):
        return self.mix(self.user(users)) @ self.item.weight.t() + self.item_bias.weight.squeeze(-1)

    @torch.no_grad()
    def project(self, max_norm):
        for emb in (self.user, self.item):
            norm = emb.weight.norm(dim=1, keepdim=True)
            emb.weight.mul_((max_norm / norm.clamp(min=1e-12)).clamp(max=1.0))


@torch.no_grad()
def hard_negatives(model, users, seen, n_items, pool=8):
    cand = torch.randint(0, n_items, (users.numel(), pool))
    s = model.score(users, cand)
    s = s.masked_fill(seen[users[:, None], cand], -1e9)
    best = s.argmax(1, keepdim=True)
    ok = ~seen[users[:, None], cand.gather(1, best)].squeeze(1)
    return cand.gather(1, best).squeeze(1), ok


def make_data(n_users, n_items, groups, per_user):
    group_u = torch.randint(0, groups, (n_users,))
    group_i = torch.arange(n_items) % groups
    prob = torch.where(group_u[:, None] == group_i[None, :], 1.0, 0.05)
    picks = torch.multinomial(prob, per_user + 1)
    seen = torch.zeros(n_users, n_items, dtype=torch.bool)
    seen[torch.arange(n_users)[:, None], picks[:, :per_user]] = True
    return seen, picks[:, per_user]


@torch.no_grad()
def hit_rate(model, seen, held, k=10):
    users = torch.arange(seen.size(0))
    scores = model.all_scores(users).masked_fill(seen, float("-inf"))
    return (scores.topk(k, 1).indices == held[:, None]).any(1).float().mean().item()


def main():
    torch.manual_seed(0)
    n_users, n_items = 120, 80
    seen, held = make_data(n_users, n_items, 4, 8)
    model = BPRMF(n_users, n_items, 16)
    sparse = [model.user.weight, model.item.weight, model.item_bias.weight]
    opt_sparse = torch.optim.SparseAdam(sparse, lr=2e-2)
    opt_dense = torch.optim.Adam(model.mix.parameters(), lr=1e-3)
    pairs = seen.nonzero()
    print(f"before training HR@10 {hit_rate(model, seen, held):.3f}")
    for epoch in range(6):
        total, count = 0.0, 0
        for idx in torch.randperm(len(pairs)).split(128):
            users, pos = pairs[idx].t()
            neg, ok = hard_negatives(model, users, seen, n_items)
            diff = model.score(users, pos) - model.score(users, neg)
            loss = (F.softplus(-diff) * ok).sum() / ok.sum().clamp(min=1)
            opt_sparse.zero_grad()
            opt_dense.zero_grad()
            loss.backward()
            opt_sparse.step()
            opt_dense.step()
            model.project(2.0)
            total += loss.item() * int(ok.sum())
            count += int(ok.sum())
        print(f"epoch {epoch} bpr {total / count:.4f} HR@10 {hit_rate(model, seen, held):.3f}")


if __name__ == "__main__":
    main()
