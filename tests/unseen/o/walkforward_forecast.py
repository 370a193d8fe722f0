"""Walk-forward evaluation of a small LSTM forecaster (horizon 1) against the persistence baseline, several folds.

TRUTH: The model returns (B, 1) for pred_len = 1 and the target batch is (B,), so MSELoss broadcasts to a (B, B) matrix of pairwise
distances and the best constant (the mean of the batch) minimizes it. Symptom: a UserWarning at most; predictions have nearly
no spread and the model does not beat the baseline in any fold. Fix: bring both to the same shape (y_batch.view_as(pred)).
Drawn from jsboige/CoursIA#926.
"""
import argparse
import warnings

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", category=UserWarning)


def synth_series(n, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    ar = np.zeros(n)
    for k in range(2, n):
        ar[k] = 1.5 * ar[k - 1] - 0.8 * ar[k - 2] + 0.2 * rng.normal()
    return (np.sin(2 * np.pi * t / 13) + 0.6 * ar).astype(np.float32)


def windows(series, seq_len):
    x = np.lib.stride_tricks.sliding_window_view(series, seq_len)[:-1]
    return torch.from_numpy(x.copy()).unsqueeze(-1), torch.from_numpy(series[seq_len:].copy())


class Forecaster(nn.Module):
    def __init__(self, d_model=24, pred_len=1):
        super().__init__()
        self.lstm = nn.LSTM(1, d_model, batch_first=True)
        self.head = nn.Linear(d_model, pred_len)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def train_fold(x, y, args):
    model = Forecaster(args.d_model)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.MSELoss()
    loader = DataLoader(TensorDataset(x, y), batch_size=args.batch_size, shuffle=True)
    best, patience = float("inf"), 0
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x_batch, y_batch in loader:
            pred = model(x_batch)
            loss = criterion(pred, y_batch)  # CULPRIT
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += loss.item() * len(x_batch)
        total /= len(x)
        if total < best - 1e-4:
            best, patience = total, 0
        else:
            patience += 1
            if patience >= args.patience:
                break
    return model, best, epoch + 1


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    pred = model(x)[:, 0]
    mse = ((pred - y) ** 2).mean().item()
    naive = ((x[:, -1, 0] - y) ** 2).mean().item()
    return mse, naive, pred.std().item() / y.std().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seq_len", type=int, default=16)
    ap.add_argument("--d_model", type=int, default=24)
    ap.add_argument("--batch_size", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--patience", type=int, default=8)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--folds", type=int, default=3)
    args = ap.parse_args()

    torch.manual_seed(0)
    x, y = windows(synth_series(1000, seed=4), args.seq_len)
    beats, step = 0, len(x) // (args.folds + 1)
    for fold in range(1, args.folds + 1):
        cut = fold * step
        mu, sd = y[:cut].mean(), y[:cut].std()
        xs, ys = (x - mu) / sd, (y - mu) / sd
        model, train_loss, epochs = train_fold(xs[:cut], ys[:cut], args)
        mse, naive, spread = evaluate(model, xs[cut:cut + step], ys[cut:cut + step])
        beats += mse < naive
        print(f"fold {fold}: epochs {epochs:2d} train {train_loss:.4f} | mse {mse:.4f} persistence {naive:.4f} "
              f"| std ratio {spread:.3f} | {'BEATS' if mse < naive else 'no'}")
    print(f"{beats} BEATS / {args.folds}")


if __name__ == "__main__":
    main()
