"""Click-through-rate model with a linear part and a factorization-machine part on categorical fields.

TRUTH: the FM second-order term needs the field axis: 0.5 * ((sum_f v)^2 - sum_f v^2). The field embeddings
are concatenated into one long vector and an axis of size one is added, so the sums over dim 1 are sums
over a single element: square of sum equals sum of squares, the FM output is identically zero and its
gradient to the embeddings is exactly zero. Symptom: FM logit always 0, field_emb weights get all-zero
gradients and never move, only the linear part learns, so the interaction in the data is not found (loss
stays high). Fix: `torch.stack(embs, dim=1)` (batch, fields, dim).
Drawn from alibaba/EasyRec#380.
"""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 2023
np.random.seed(SEED)
torch.manual_seed(SEED)

FIELD_SIZES = {"user_group": 12, "item_cat": 15, "hour": 8, "device": 4}


def synth_clicks(n):
    rng = np.random.RandomState(SEED)
    cols = np.stack([rng.randint(0, s, n) for s in FIELD_SIZES.values()], axis=1)
    u = np.random.RandomState(1).randn(12, 3)
    c = np.random.RandomState(2).randn(15, 3)
    h = np.random.RandomState(3).randn(8) * 0.4
    score = 1.6 * (u[cols[:, 0]] * c[cols[:, 1]]).sum(1) + h[cols[:, 2]]
    y = (rng.rand(n) < 1 / (1 + np.exp(-score))).astype(np.float32)
    return torch.from_numpy(cols).long(), torch.from_numpy(y)


class FMLayer(nn.Module):
    """Second-order interactions of the field embeddings, summed over the embedding dimension."""

    def forward(self, fm_feas):
        sum_square = fm_feas.sum(dim=1).pow(2)
        square_sum = fm_feas.pow(2).sum(dim=1)
        return 0.5 * (sum_square - square_sum).sum(dim=-1)


class CTRModel(nn.Module):
    def __init__(self, field_sizes, dim=8):
        super().__init__()
        self.wide = nn.ModuleList(nn.Embedding(s, 1) for s in field_sizes)
        self.field_emb = nn.ModuleList(nn.Embedding(s, dim) for s in field_sizes)
        self.fm = FMLayer()
        self.bias = nn.Parameter(torch.zeros(()))
        for e in self.wide:
            nn.init.zeros_(e.weight)
        for e in self.field_emb:
            nn.init.normal_(e.weight, std=0.1)

    def build_fm_input(self, x):
        embs = [emb(x[:, i]) for i, emb in enumerate(self.field_emb)]
        return torch.cat(embs, dim=1).unsqueeze(1)  # CULPRIT

    def forward(self, x):
        linear = sum(w(x[:, i]) for i, w in enumerate(self.wide)).squeeze(-1)
        return self.bias + linear + self.fm(self.build_fm_input(x))


def auc(scores, labels):
    order = scores.argsort()
    ranks = torch.empty_like(order, dtype=torch.float)
    ranks[order] = torch.arange(1, len(order) + 1, dtype=torch.float)
    pos = labels == 1
    n_pos, n_neg = pos.sum().item(), (~pos).sum().item()
    return ((ranks[pos].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg)).item()


X, Y = synth_clicks(12000)
train_loader = DataLoader(TensorDataset(X[:10000], Y[:10000]), batch_size=256, shuffle=True)
X_te, Y_te = X[10000:], Y[10000:]

model = CTRModel(list(FIELD_SIZES.values()))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(1, 9):
    model.train()
    running = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(yb)
    model.eval()
    with torch.no_grad():
        logits = model(X_te)
        test_loss = criterion(logits, Y_te).item()
    print(f"epoch {epoch}: train logloss {running / 10000:.4f} | test logloss {test_loss:.4f} "
          f"| test AUC {auc(logits, Y_te):.4f}")
