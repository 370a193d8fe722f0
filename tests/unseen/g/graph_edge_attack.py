"""WRONG. With attacked_model.train() the attack dies in its second step: Trying to backward through the graph a second time.
TRUTH: in train mode the GCN keeps the prepared adjacency of the first call, with its autograd graph to the first perturbation, and reuses it; switch the caching off for the attacked model (or do not put it into train mode).
THREAD: https://github.com/sigeisler/robustness_of_gnns_at_scale/issues/4
"""
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_graph(n=60, classes=3, seed=0):
    g = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % classes
    same = labels[:, None] == labels[None, :]
    prob = torch.where(same, torch.tensor(0.25), torch.tensor(0.03))
    upper = torch.triu(torch.rand(n, n, generator=g) < prob, diagonal=1)
    adj = (upper | upper.t()).float()
    feat = F.one_hot(labels, classes).float() @ torch.randn(classes, 8, generator=g) + 1.2 * torch.randn(n, 8, generator=g)
    return adj, feat, labels


class GCNConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.lin = nn.Linear(n_in, n_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, adj, x):
        return adj @ self.lin(x) + self.bias


class GCN(nn.Module):
    def __init__(self, n_features, n_classes, n_filters=16, dropout=0.3, do_cache_adj_prep=True):
        super().__init__()
        self.conv1 = GCNConv(n_features, n_filters)
        self.conv2 = GCNConv(n_filters, n_classes)
        self.dropout = nn.Dropout(dropout)
        self.do_cache_adj_prep = do_cache_adj_prep
        self.adj_preped = None

    def release_cache(self):
        self.adj_preped = None

    def _prepare(self, adj):
        adj = adj + torch.eye(adj.shape[0])
        d = adj.sum(1).clamp(min=1e-6).pow(-0.5)
        return d[:, None] * adj * d[None, :]

    def _preprocess_adjacency_matrix(self, adj):
        if self.training and self.do_cache_adj_prep:
            if self.adj_preped is None:
                self.adj_preped = self._prepare(adj)  # CULPRIT
            return self.adj_preped
        return self._prepare(adj)

    def forward(self, x, adj):
        adj = self._preprocess_adjacency_matrix(adj)
        x = self.dropout(F.relu(self.conv1(adj, x)))
        return self.conv2(adj, x)


def fit(model, feat, adj, labels, idx, epochs=120):
    optim = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
    for _ in range(epochs):
        model.train()
        optim.zero_grad()
        loss = F.cross_entropy(model(feat, adj)[idx], labels[idx])
        loss.backward()
        optim.step()
    model.eval()
    return loss.item()


@torch.no_grad()
def accuracy(model, feat, adj, labels, idx):
    model.eval()
    return (model(feat, adj)[idx].argmax(1) == labels[idx]).float().mean().item()


class PRBCD:
    """Projected gradient over a block of candidate edge flips."""

    def __init__(self, model, adj, feat, labels, idx, block=200, lr=0.5, eps=1e-7):
        self.attacked_model = model
        self.adj, self.feat, self.labels, self.idx = adj, feat, labels, idx
        n = adj.shape[0]
        pairs = torch.triu_indices(n, n, offset=1)
        self.search = pairs[:, torch.randperm(pairs.shape[1])[:block]]
        self.perturbed_edge_weight = torch.full((block,), eps)
        self.lr, self.eps = lr, eps

    def modified_adj(self, weight):
        r, c = self.search
        sign = 1 - 2 * self.adj[r, c]
        delta = torch.zeros_like(self.adj).index_put((r, c), sign * weight)
        return self.adj + delta + delta.t()

    def project(self, values, budget):
        if values.clamp(0, 1).sum() > budget:
            left, right = (values - 1).min(), values.max()
            for _ in range(40):
                mid = (left + right) / 2
                if (values - mid).clamp(0, 1).sum() > budget:
                    left = mid
                else:
                    right = mid
            values = values - right
        return values.clamp(self.eps, 1 - self.eps)

    def attack(self, n_perturbations, epochs=20):
        self.attacked_model.release_cache()
        for p in self.attacked_model.parameters():
            p.requires_grad_(False)
        self.attacked_model.train()  # CULPRIT
        for epoch in range(epochs):
            self.perturbed_edge_weight.requires_grad = True
            logits = self.attacked_model(self.feat, self.modified_adj(self.perturbed_edge_weight))
            loss = F.cross_entropy(logits[self.idx], self.labels[self.idx])
            self.perturbed_edge_weight.grad = None
            loss.backward()
            gradient = self.perturbed_edge_weight.grad
            with torch.no_grad():
                step = self.perturbed_edge_weight + self.lr * n_perturbations * gradient
                self.perturbed_edge_weight = self.project(step, n_perturbations)
            if epoch % 5 == 0:
                print('attack epoch', epoch, 'loss %.4f' % loss.item())
        k = self.perturbed_edge_weight.topk(n_perturbations).indices
        final = torch.zeros_like(self.perturbed_edge_weight)
        final[k] = 1.0
        return self.modified_adj(final)


torch.manual_seed(0)
adj, feat, labels = make_graph()
perm = torch.randperm(len(labels))
train_idx, test_idx = perm[:20], perm[20:]
gcn = GCN(feat.shape[1], 3)
print('train loss %.3f' % fit(gcn, feat, adj, labels, train_idx))
print('clean accuracy %.3f' % accuracy(gcn, feat, adj, labels, test_idx))
attacker = PRBCD(gcn, adj, feat, labels, test_idx)
adj_attacked = attacker.attack(n_perturbations=15)
print('perturbed accuracy %.3f' % accuracy(gcn, feat, adj_attacked, labels, test_idx))
