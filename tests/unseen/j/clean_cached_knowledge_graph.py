# kind: freed_before_recording
"""Link prediction in a small knowledge graph; relations are composed from shared bases."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class RelationTable(nn.Module):
    """Every relation is a mixture of a few basis vectors (as in basis-decomposed R-GCN)."""

    def __init__(self, n_relations, n_bases, dim):
        super().__init__()
        self.mix = nn.Parameter(torch.randn(n_relations, n_bases) / n_bases ** 0.5)
        self.bases = nn.Parameter(torch.randn(n_bases, dim))
        self._table = None

    def build(self):
        self._table = self.mix @ self.bases
        return self._table

    def forward(self, relation):
        table = self.build() if self.training or self._table is None else self._table
        return table[relation]


class DistMult(nn.Module):
    def __init__(self, n_entities, n_relations, dim=24):
        super().__init__()
        self.entity = nn.Embedding(n_entities, dim)
        self.relation = RelationTable(n_relations, 4, dim)
        nn.init.normal_(self.entity.weight, std=0.5)

    def forward(self, head, relation):
        query = self.entity(head) * self.relation(relation)
        return query @ self.entity.weight.t()


def make_triples(n_entities, n_relations, n, gen):
    left = torch.randn(n_entities, 6, generator=gen)
    maps = torch.randn(n_relations, 6, generator=gen)
    head = torch.randint(n_entities, (n,), generator=gen)
    rel = torch.randint(n_relations, (n,), generator=gen)
    tail = ((left[head] * maps[rel]) @ left.t()).argmax(1)
    return head, rel, tail


def sanity_check(model, triples):
    """One small batch forward and backward, to see that all the shapes fit."""
    head, rel, tail = (t[:4] for t in triples)
    F.cross_entropy(model(head, rel), tail).backward()
    assert all(p.grad is not None for p in model.parameters())
    model.zero_grad()


def run(n_entities=40, n_relations=5, epochs=15):
    gen = torch.Generator().manual_seed(2)
    triples = make_triples(n_entities, n_relations, 1024, gen)
    model = DistMult(n_entities, n_relations)
    sanity_check(model, triples)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        total = 0.0
        for pick in torch.randperm(1024).split(128):
            head, rel, tail = (t[pick] for t in triples)
            loss = F.cross_entropy(model(head, rel), tail)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / 8
        if epoch % 3 == 2:
            print(f"epoch {epoch}: loss {total:.3f}")


torch.manual_seed(0)
run()
