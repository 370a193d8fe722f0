"""TransE on a small synthetic knowledge graph; the best model on the validation triples is put back at the end.

TRUTH: best_model keeps model.state_dict() itself, which references the live parameter tensors, so it changes with every
later step and load_state_dict at the end puts back the last weights instead of the best. Symptom: the final validation
rank equals that of the last, overtrained epoch and not the best one printed during training. Fix: a deep copy (clones)
of the state dict. Drawn from thunlp/OpenKE#131.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def build_kg(n_ent=90, n_rel=4, noise=0.55, seed=0):
    rng = np.random.default_rng(seed)
    pos = rng.normal(size=(n_ent, 4))
    shift = rng.normal(size=(n_rel, 4)) * 1.2
    triples = []
    for h in range(n_ent):
        for r in range(n_rel):
            d = ((pos[h] + shift[r] + noise * rng.normal(size=4) - pos) ** 2).sum(-1)
            d[h] = np.inf
            triples.append((h, r, int(d.argmin())))
    triples = torch.tensor(triples)[torch.from_numpy(rng.permutation(len(triples)))]
    n_valid = len(triples) // 4
    return triples[n_valid:], triples[:n_valid], n_ent, n_rel


class TransE(nn.Module):
    def __init__(self, ent_tot, rel_tot, dim=32, p_norm=1):
        super().__init__()
        self.ent_embeddings = nn.Embedding(ent_tot, dim)
        self.rel_embeddings = nn.Embedding(rel_tot, dim)
        self.p_norm = p_norm
        nn.init.xavier_uniform_(self.ent_embeddings.weight)
        nn.init.xavier_uniform_(self.rel_embeddings.weight)

    def forward(self, h, r, t):
        h, t = F.normalize(self.ent_embeddings(h), 2, -1), F.normalize(self.ent_embeddings(t), 2, -1)
        r = F.normalize(self.rel_embeddings(r), 2, -1)
        return torch.norm(h + r - t, self.p_norm, -1)


class Trainer:
    def __init__(self, model, train, valid, n_ent, lr=0.05, margin=4.0, epochs=60, valid_steps=5, neg=10, bs=64):
        self.model, self.train_set, self.valid_set, self.n_ent = model, train, valid, n_ent
        self.epochs, self.valid_steps, self.neg, self.bs, self.margin = epochs, valid_steps, neg, bs, margin
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.gen = torch.Generator().manual_seed(1)
        self.best_rank, self.best_model, self.best_epoch = float("inf"), None, None

    def one_epoch(self):
        self.model.train()
        perm = torch.randperm(len(self.train_set), generator=self.gen)
        res = 0.0
        for k in range(0, len(perm), self.bs):
            h, r, t = self.train_set[perm[k:k + self.bs]].T
            corrupt = torch.randint(0, self.n_ent, (len(h), self.neg), generator=self.gen)
            head_side = torch.rand(len(h), self.neg, generator=self.gen) < 0.5
            nh = torch.where(head_side, corrupt, h[:, None])
            nt = torch.where(head_side, t[:, None], corrupt)
            p = self.model(h, r, t)[:, None]
            n = self.model(nh, r[:, None].expand_as(nh), nt)
            loss = F.relu(self.margin + p - n).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            res += loss.item() * len(h)
        return res / len(perm)

    @torch.no_grad()
    def valid(self):
        self.model.eval()
        h, r, t = self.valid_set.T
        cand = torch.arange(self.n_ent)
        s = self.model(h[:, None], r[:, None], cand[None, :])
        return (s < s.gather(1, t[:, None])).float().sum(1).add(1).mean().item()

    def run(self):
        for epoch in range(1, self.epochs + 1):
            loss = self.one_epoch()
            if epoch % self.valid_steps == 0:
                rank = self.valid()
                print(f"Epoch {epoch} has finished, loss {loss:.4f}, valid mean rank {rank:.3f}")
                if rank < self.best_rank:
                    self.best_rank, self.best_epoch = rank, epoch
                    self.best_model = self.model.state_dict()  # CULPRIT
                    print(f"Best model | mean rank of valid set: {rank:.3f}")
        self.model.load_state_dict(self.best_model)


if __name__ == "__main__":
    torch.manual_seed(0)
    train, valid, n_ent, n_rel = build_kg()
    trainer = Trainer(TransE(n_ent, n_rel), train, valid, n_ent)
    trainer.run()
    print(f"best epoch {trainer.best_epoch} rank {trainer.best_rank:.3f} | restored model rank {trainer.valid():.3f}")
