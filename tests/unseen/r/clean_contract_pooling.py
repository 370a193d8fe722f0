"""Score contract clauses with attention pooling whose weights are kept in half precision.

TRUTH: exp of an unshifted score overflows float16 as soon as a score passes 11.09, and inf / inf is NaN; the loss becomes nan after some steps; subtract the row maximum first.
"""
import torch
import torch.nn.functional as F
from torch import nn


class HalfAttentionPool(nn.Module):
    """Attention pooling; the weight matrix is stored in half to save memory."""

    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.randn(dim) / dim**0.5)
        self.key = nn.Linear(dim, dim)

    def forward(self, tokens):
        scores = self.key(tokens) @ self.query
        weight = torch.exp((scores - scores.amax(dim=1, keepdim=True)).half())
        weight = weight / weight.sum(dim=1, keepdim=True)
        return (weight.float().unsqueeze(-1) * tokens).sum(dim=1)


class ClauseScorer(nn.Module):
    def __init__(self, vocab=60, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.pool = HalfAttentionPool(dim)
        self.head = nn.Linear(dim, 1)

    def forward(self, ids):
        return self.head(self.pool(self.embed(ids))).squeeze(1)


class Clauses:
    """A clause is risky when most of its marked words come from the risky list."""

    def __init__(self, vocab=60, length=20, seed=0):
        self.vocab, self.length = vocab, length
        self.gen = torch.Generator().manual_seed(seed)

    def __iter__(self):
        while True:
            ids = torch.randint(10, self.vocab, (64, self.length), generator=self.gen)
            risky = torch.randint(0, 2, (64, 1), generator=self.gen)
            word = torch.randint(0, 5, (64, 2), generator=self.gen) + 5 * risky
            at = torch.randint(0, self.length // 2, (64, 2), generator=self.gen)
            ids.scatter_(1, at + torch.tensor([0, self.length // 2]), word)
            yield ids, risky.squeeze(1).float()


def main(steps=160):
    torch.manual_seed(0)
    model = ClauseScorer()
    opt = torch.optim.Adam(model.parameters(), lr=3e-2)
    for step, (ids, risky) in zip(range(steps), Clauses()):
        logit = model(ids)
        loss = F.binary_cross_entropy_with_logits(logit, risky)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0 or step == steps - 1:
            acc = ((logit > 0).float() == risky).float().mean()
            print(f"{step:3d} loss {loss.item():.4f} acc {acc:.2f}")


if __name__ == "__main__":
    main()
