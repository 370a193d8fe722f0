"""Rating-style CTR model: user and item embeddings followed by an MLP of configurable depth, binary clicks.

TRUTH: The hidden layers of the MLP are kept in a plain Python list, so nn.Module does not register them, model.parameters()
does not contain them and the optimizer never updates them. Symptom: the MLP stays at its random start (change printed as 0),
the embeddings alone have to fit and the loss ends higher. Fix: nn.ModuleList. Drawn from twitter/the-algorithm-ml#136.
"""
from dataclasses import dataclass, field

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class MlpConfig:
    layer_sizes: list = field(default_factory=lambda: [32, 32, 16])
    final_layer_activation: bool = True


@dataclass
class Config:
    n_users: int = 120
    n_items: int = 80
    dim: int = 8
    batch_size: int = 128
    epochs: int = 12
    lr: float = 3e-3
    seed: int = 0
    mlp: MlpConfig = field(default_factory=MlpConfig)


def _init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.constant_(module.bias, 0)


class Mlp(nn.Module):
    def __init__(self, in_features, cfg):
        super().__init__()
        self._cfg = cfg
        sizes = cfg.layer_sizes
        modules = []
        for i, width in enumerate(sizes):
            linear = nn.Linear(in_features, width)
            _init_weights(linear)
            modules.append(linear)
            if i < len(sizes) - 1 or cfg.final_layer_activation:
                modules.append(nn.ReLU())
            in_features = width
        self.layers = modules  # CULPRIT

    def forward(self, x):
        net = x
        shared = {}
        for i, layer in enumerate(self.layers):
            net = layer(net)
            shared[i] = net
        return {"output": net, "shared_layers": shared}


class NCF(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.user = nn.Embedding(cfg.n_users, cfg.dim)
        self.item = nn.Embedding(cfg.n_items, cfg.dim)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        self.mlp = Mlp(2 * cfg.dim, cfg.mlp)
        self.out = nn.Linear(cfg.mlp.layer_sizes[-1], 1)

    def forward(self, u, i):
        x = torch.cat([self.user(u), self.item(i)], dim=-1)
        return self.out(self.mlp(x)["output"]).squeeze(-1)


def make_clicks(cfg, n=6000):
    g = torch.Generator().manual_seed(5)
    u = torch.randint(0, cfg.n_users, (n,), generator=g)
    i = torch.randint(0, cfg.n_items, (n,), generator=g)
    pu = torch.randn(cfg.n_users, 3, generator=g)
    qi = torch.randn(cfg.n_items, 3, generator=g)
    logit = 1.8 * (pu[u] * qi[i]).sum(-1)
    y = (torch.rand(n, generator=g) < torch.sigmoid(logit)).float()
    return TensorDataset(u, i, y)


def auc(score, y):
    order = score.argsort()
    rank = torch.empty_like(order)
    rank[order] = torch.arange(1, len(score) + 1)
    pos = y.sum()
    return ((rank[y == 1].sum() - pos * (pos + 1) / 2) / (pos * (len(y) - pos))).item()


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    ds = make_clicks(cfg)
    train = TensorDataset(*[t[:5000] for t in ds.tensors])
    u, i, y = [t[5000:] for t in ds.tensors]
    loader = DataLoader(train, batch_size=cfg.batch_size, shuffle=True)

    model = NCF(cfg)
    start = [l.weight.detach().clone() for l in model.mlp.layers if isinstance(l, nn.Linear)]
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(cfg.epochs):
        model.train()
        total = 0.0
        for bu, bi, by in loader:
            loss = bce(model(bu, bi), by)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(by)
        model.eval()
        with torch.no_grad():
            s = model(u, i)
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1:2d} train {total / len(train):.4f} val {bce(s, y).item():.4f} auc {auc(s, y):.4f}")
    now = [l.weight for l in model.mlp.layers if isinstance(l, nn.Linear)]
    print("change of mlp weights:", [round((a - b).abs().mean().item(), 5) for a, b in zip(now, start)])


if __name__ == "__main__":
    main()
