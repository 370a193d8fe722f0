"""WRONG. The imputer prints a best validation loss at an early epoch and says that it goes back to it, yet the test after fit() is as
bad as the last epoch; the same best epoch gives other results when more epochs are run.
TRUTH: self.best_model_dict = self.model.state_dict() keeps references that go on training; take deepcopy(self.model.state_dict()).
THREAD: https://github.com/WenjieDu/PyPOTS/issues/667
"""
import math
from copy import deepcopy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def masked_mae(pred, target, mask):
    return (torch.abs(pred - target) * mask).sum() / (mask.sum() + 1e-12)


def masked_mse(pred, target, mask):
    return (torch.square(pred - target) * mask).sum() / (mask.sum() + 1e-12)


class EarlyStopper:
    def __init__(self, patience):
        self.original_patience = patience
        self.patience = patience

    def improved(self):
        self.patience = self.original_patience

    def worse(self):
        self.patience -= 1
        return self.patience == 0


class ImputeNet(nn.Module):
    def __init__(self, n_steps, n_features, d_model, n_layers, dropout):
        super().__init__()
        self.shape = (n_steps, n_features)
        layers, width = [], 2 * n_steps * n_features
        for _ in range(n_layers):
            layers += [nn.Linear(width, d_model), nn.GELU(), nn.Dropout(dropout)]
            width = d_model
        self.encoder = nn.Sequential(*layers)
        self.reduce = nn.Linear(width, n_steps * n_features)

    def forward(self, X, missing_mask):
        h = self.encoder(torch.cat([X, missing_mask], dim=-1).flatten(1))
        return self.reduce(h).unflatten(1, self.shape)


class Imputer:
    def __init__(self, n_steps, n_features, epochs=40, patience=None, batch_size=8, lr=4e-3):
        self.model = ImputeNet(n_steps, n_features, 128, 2, 0.0)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.epochs = epochs
        self.batch_size = batch_size
        self.stopper = EarlyStopper(patience) if patience else None
        self.best_model_dict = None
        self.best_loss = float("inf")
        self.best_epoch = -1

    def _train_model(self, training_loader, val_set):
        for epoch in range(1, self.epochs + 1):
            self.model.train()
            losses = []
            for X_ori, mask in training_loader:
                hold = (torch.rand_like(mask) < 0.2).float() * mask
                visible = mask - hold
                self.optimizer.zero_grad()
                out = self.model(X_ori * visible, visible)
                loss = masked_mae(out, X_ori, visible) + masked_mae(out, X_ori, hold)
                loss.backward()
                self.optimizer.step()
                losses.append(loss.item())
            val_loss = self.evaluate(*val_set)
            if epoch % 10 == 0:
                print(f"Epoch {epoch:03d} - training loss: {sum(losses) / len(losses):.4f}, validation MSE: {val_loss:.4f}")
            if val_loss < self.best_loss:
                self.best_epoch = epoch
                self.best_loss = val_loss
                self.best_model_dict = self.model.state_dict()  # CULPRIT
                if self.stopper:
                    self.stopper.improved()
            elif self.stopper and self.stopper.worse():
                print("Exceeded the training patience. Terminating the training procedure...")
                break
        if math.isinf(self.best_loss):
            raise ValueError("Something is wrong. best_loss is inf after training.")

    def fit(self, X, mask, val_set):
        loader = DataLoader(TensorDataset(X, mask), batch_size=self.batch_size, shuffle=True)
        self._train_model(loader, val_set)
        self.model.load_state_dict(self.best_model_dict)
        self.model.eval()
        print(f"Finished training. The best model is from epoch#{self.best_epoch}.")

    @torch.no_grad()
    def evaluate(self, X, mask, indicating):
        self.model.eval()
        return masked_mse(self.model(X * mask, mask), X, indicating).item()


def make_series(n, n_steps, n_features):
    t = torch.arange(n_steps).float()[None, :, None]
    phase = 6.28 * torch.rand(n, 1, n_features)
    period = 6.0 + 6.0 * torch.rand(n, 1, 1)
    X = torch.sin(6.28 * t / period + phase) + 0.3 * torch.randn(n, n_steps, n_features)
    mask = (torch.rand_like(X) > 0.1).float()
    return X, mask


def hold_out(X, mask, rate=0.2):
    indicating = (torch.rand_like(mask) < rate).float() * mask
    return X, mask - indicating, indicating


def main():
    torch.manual_seed(0)
    n_steps, n_features = 12, 4
    X, mask = make_series(24, n_steps, n_features)
    val_set = hold_out(*make_series(64, n_steps, n_features))
    imputer = Imputer(n_steps, n_features, epochs=50)
    start = deepcopy(imputer.model.state_dict())
    imputer.fit(X, mask, val_set)
    moved = sum((v - start[k]).norm() for k, v in imputer.model.state_dict().items()).item()
    print(f"distance from the initial weights {moved:.2f}")
    print(f"best validation MSE while training {imputer.best_loss:.4f}")
    print(f"validation MSE of the fitted imputer {imputer.evaluate(*val_set):.4f}")


if __name__ == "__main__":
    main()
