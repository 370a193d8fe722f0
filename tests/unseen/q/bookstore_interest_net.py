"""Predicts from a reader's last purchases and profile whether the next offered book will be bought.

TRUTH: FieldEmbedder keeps its embedding tables in plain Python dicts (token_table, seq_table), so they are no
sub-modules: model.parameters() does not contain them, the optimiser never sees them and they stay at their random
start, while their gradients only pile up. Only the towers above learn; the loss hardly falls. Fix: hold the tables in
nn.ModuleDict. Drawn from RUCAIBox/RecBole#1128.
"""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

FIELDS = {"reader": 300, "book": 400, "shelf": 12}


class FieldEmbedder(nn.Module):
    """Feature embeddings of a context-aware sequential recommender, one table per field."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.token_table = {}  # CULPRIT
        self.seq_table = {}  # CULPRIT
        self.scale = nn.Parameter(torch.ones(dim))
        for name, size in FIELDS.items():
            self.token_table[name] = nn.Embedding(size, dim)
            nn.init.normal_(self.token_table[name].weight, std=0.05)
        for name in ("book", "shelf"):
            self.seq_table[name] = nn.Embedding(FIELDS[name], dim)
            nn.init.normal_(self.seq_table[name].weight, std=0.05)

    def tokens(self, batch):
        return {f: self.token_table[f](batch[f]) * self.scale for f in FIELDS}

    def history(self, batch):
        return self.seq_table["book"](batch["past_books"]) + self.seq_table["shelf"](batch["past_shelves"])


class InterestNet(nn.Module):
    def __init__(self, dim=8, hidden=16):
        super().__init__()
        self.embed = FieldEmbedder(dim)
        self.att = nn.Sequential(nn.Linear(4 * dim, hidden), nn.PReLU(), nn.Linear(hidden, 1))
        self.tower = nn.Sequential(nn.Linear(4 * dim, hidden), nn.PReLU(), nn.Linear(hidden, 1))

    def forward(self, batch):
        tok, past = self.embed.tokens(batch), self.embed.history(batch)
        query = (tok["book"] + tok["shelf"])[:, None].expand_as(past)
        score = self.att(torch.cat([query, past, query - past, query * past], -1))
        interest = (torch.softmax(score, 1) * past).sum(1)
        x = torch.cat([tok["reader"], tok["book"], tok["shelf"], interest], -1)
        direct = (tok["reader"] * (tok["book"] + tok["shelf"])).sum(-1)
        return self.tower(x).squeeze(-1) + direct


def make_log(n, seed, past=6):
    g = torch.Generator().manual_seed(seed)
    w = torch.Generator().manual_seed(1234)
    taste = torch.randint(0, 12, (FIELDS["reader"], 2), generator=w)
    shelf_of = torch.randint(0, 12, (FIELDS["book"],), generator=w)
    popular = torch.randn(FIELDS["book"], generator=w)
    reader = torch.randint(0, FIELDS["reader"], (n,), generator=g)
    book = torch.randint(0, FIELDS["book"], (n,), generator=g)
    past_books = torch.randint(0, FIELDS["book"], (n, past), generator=g)
    match = (taste[reader] == shelf_of[book][:, None]).any(1).float()
    logit = 3.5 * match + 1.2 * popular[book] - 1.2
    y = (torch.rand(n, generator=g) < torch.sigmoid(logit)).float()
    return {"reader": reader, "book": book, "shelf": shelf_of[book], "past_books": past_books,
            "past_shelves": shelf_of[past_books]}, y


def auc(score, y):
    rank = score.argsort().argsort().float() + 1
    pos = y.sum()
    return ((rank[y == 1].sum() - pos * (pos + 1) / 2) / (pos * (len(y) - pos))).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    (x, y), (vx, vy) = make_log(20000, 1), make_log(4000, 2)
    model = InterestNet()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.StepLR(opt, 4, 0.5)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(y)).split(args.batch):
            loss = F.binary_cross_entropy_with_logits(model({k: v[idx] for k, v in x.items()}), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        sched.step()
        model.eval()
        with torch.no_grad():
            score = model(vx)
        print(f"epoch {epoch} loss {total / len(y):.4f} valid AUC {auc(score, vy):.3f}")


if __name__ == "__main__":
    main()
