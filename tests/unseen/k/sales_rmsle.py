"""WRONG. Plain regression of sales figures with my RMSLE loss. The loss falls a little and stops; the network predicts
practically the same number for every shop. No warning is printed.
TRUTH: the net returns (N, 1), the targets are (N,), the difference in the loss broadcasts to (N, N) and the best answer is
a constant. `loss = criterion(out, yb.unsqueeze(1))`.
THREAD: https://discuss.pytorch.org/t/output-of-the-model-depends-on-the-shape-of-the-weights-tensor/148155
"""
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)


class RMSLELoss(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, pred, actual):
        diff = torch.log1p(pred) - torch.log1p(actual)
        return torch.sqrt(diff.pow(2).mean() + self.eps)


class SalesNet(nn.Module):
    def __init__(self, n_num, n_stores, emb=4):
        super().__init__()
        self.emb = nn.Embedding(n_stores, emb)
        self.norm = nn.BatchNorm1d(n_num)
        self.body = nn.Sequential(
            nn.Linear(n_num + emb, 32), nn.ReLU(),
            nn.Linear(32, 16), nn.ReLU(),
            nn.Linear(16, 1), nn.Softplus(),
        )

    def forward(self, num, store):
        return self.body(torch.cat([self.norm(num), self.emb(store)], dim=1))


def make_sales(n=640, n_stores=6):
    num = torch.rand(n, 4)
    store = torch.randint(0, n_stores, (n,))
    level = torch.linspace(0.5, 2.0, n_stores)
    y = torch.exp(level[store] + 1.2 * num[:, 0] - 0.8 * num[:, 1] * num[:, 2])
    return TensorDataset(num, store, y * (1 + 0.03 * torch.randn(n)))


@torch.no_grad()
def report(model, loader):
    model.eval()
    preds, actuals = [], []
    for num, store, yb in loader:
        preds.append(model(num, store).squeeze(1))
        actuals.append(yb)
    p, a = torch.log1p(torch.cat(preds)), torch.log1p(torch.cat(actuals))
    rmsle = (p - a).pow(2).mean().sqrt()
    r2 = 1 - (p - a).pow(2).sum() / (a - a.mean()).pow(2).sum()
    model.train()
    return rmsle.item(), r2.item(), p.std().item()


def fit(model, train_dl, valid_dl, epochs, lr):
    criterion = RMSLELoss()
    optim = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=1e-5)
    scheduler = ReduceLROnPlateau(optim, 'min', factor=0.5, patience=3)
    for epoch in range(epochs):
        total, count = 0.0, 0
        for num, store, yb in train_dl:
            optim.zero_grad()
            out = model(num, store)
            loss = criterion(out, yb)  # CULPRIT
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optim.step()
            total += loss.item() * len(yb)
            count += len(yb)
        rmsle, r2, spread = report(model, valid_dl)
        scheduler.step(rmsle)
        if epoch % 3 == 2:
            print(f'{epoch + 1:3d} train {total / count:.4f} valid rmsle {rmsle:.4f} r2 {r2:.3f} spread {spread:.3f}')


def main():
    ds = make_sales()
    train_ds, valid_ds = random_split(ds, [512, 128])
    train_dl = DataLoader(train_ds, batch_size=64, shuffle=True)
    valid_dl = DataLoader(valid_ds, batch_size=128)
    model = SalesNet(4, 6)
    fit(model, train_dl, valid_dl, epochs=18, lr=1e-2)


if __name__ == '__main__':
    main()
