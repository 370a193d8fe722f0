"""WRONG. With more epochs the results differ although the best epoch is the same: the kept best model goes on changing.
TRUTH: best_model_dict = model.state_dict() keeps references to the live parameters; take a deep copy.
THREAD: https://github.com/WenjieDu/PyPOTS/issues/667
"""
import logging
import sys
from abc import abstractmethod
from copy import deepcopy
from typing import Optional

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s", stream=sys.stdout)
logger = logging.getLogger("impute")


def mcar(x, p, rng):
    """Puts nan at random places."""
    x = x.copy()
    x[rng.random(x.shape) < p] = np.nan
    return x


class DatasetForSAITS(Dataset):
    def __init__(self, X, X_ori: Optional[np.ndarray] = None, rate=0.2, seed=0):
        self.X, self.X_ori, self.rate = X, X_ori, rate
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, idx):
        if self.X_ori is not None:
            ori, x = self.X_ori[idx], self.X[idx]
        else:
            ori = self.X[idx]
            x = mcar(ori, self.rate, self.rng)
        missing = ~np.isnan(x)
        indicating = ~np.isnan(ori) ^ missing
        to = lambda a: torch.from_numpy(np.nan_to_num(a).astype("float32"))
        return to(x), to(missing), to(ori), to(indicating)


class ImputerNet(nn.Module):
    def __init__(self, n_features, d_model=32):
        super().__init__()
        self.embed = nn.Linear(2 * n_features, d_model)
        self.pos = nn.Parameter(torch.zeros(1, 16, d_model))
        self.layer = nn.TransformerEncoderLayer(d_model, 4, 64, dropout=0.0, batch_first=True)
        self.reduce = nn.Linear(d_model, n_features)

    def forward(self, x, mask):
        h = self.embed(torch.cat([x, mask], dim=2)) + self.pos[:, : x.shape[1]]
        return self.reduce(self.layer(h))


def calc_mae(pred, target, mask):
    return (torch.abs(pred - target) * mask).sum() / (mask.sum() + 1e-12)


class BaseNNModel:
    def __init__(self, batch_size, epochs, patience=None):
        self.batch_size, self.epochs = batch_size, epochs
        self.original_patience = self.patience = epochs + 1 if patience is None else patience
        self.model, self.optimizer = None, None
        self.best_model_dict, self.best_loss, self.best_epoch = None, float("inf"), -1

    @abstractmethod
    def _step(self, data):
        ...

    def _train_model(self, training_loader, val_loader=None):
        self.best_loss, self.best_model_dict = float("inf"), None
        for epoch in range(1, self.epochs + 1):
            self.model.train()
            epoch_train_losses = []
            for data in training_loader:
                self.optimizer.zero_grad()
                loss, _ = self._step(data)
                loss.backward()
                self.optimizer.step()
                epoch_train_losses.append(loss.item())
            mean_loss = float(np.mean(epoch_train_losses))
            if val_loader is not None:
                self.model.eval()
                with torch.no_grad():
                    val = [self._step(data)[1].item() for data in val_loader]
                mean_loss = float(np.mean(val))
            if np.isnan(mean_loss):
                logger.warning("epoch %d: loss is nan", epoch)
            if mean_loss < self.best_loss:
                self.best_epoch, self.best_loss = epoch, mean_loss
                self.best_model_dict = self.model.state_dict()  # CULPRIT
                self.patience = self.original_patience
            else:
                self.patience -= 1
            if epoch % 20 == 0:
                logger.info("epoch %03d train %.4f val %.4f", epoch, np.mean(epoch_train_losses), mean_loss)
            if self.patience == 0:
                logger.info("Exceeded the training patience. Terminating the training procedure...")
                break
        logger.info("Finished training. The best model is from epoch#%d with loss %.4f.", self.best_epoch, self.best_loss)


class SAITSLite(BaseNNModel):
    def __init__(self, n_features, batch_size=16, epochs=80, patience=None, lr=3e-3):
        super().__init__(batch_size, epochs, patience)
        self.model = ImputerNet(n_features)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)

    def _step(self, data):
        x, missing, ori, indicating = data
        rec = self.model(x, missing)
        ort, mit = calc_mae(rec, x, missing), calc_mae(rec, ori, indicating)
        return ort + mit, mit

    def fit(self, train_set, val_set):
        train_loader = DataLoader(DatasetForSAITS(train_set), self.batch_size, shuffle=True)
        val_loader = DataLoader(DatasetForSAITS(*val_set), 64)
        self._train_model(train_loader, val_loader)
        self.model.load_state_dict(self.best_model_dict)
        self.model.eval()

    @torch.no_grad()
    def score(self, test_set):
        loader = DataLoader(DatasetForSAITS(*test_set), 64)
        return float(np.mean([self._step(d)[1].item() for d in loader]))


def vitals(n, rng, steps=12, features=4):
    t = np.arange(steps) / steps
    base = rng.normal(size=(n, 1, features))
    wave = np.sin(2 * np.pi * (t[None, :, None] * rng.uniform(0.5, 2, size=(n, 1, features)) + rng.random((n, 1, 1))))
    return (base + wave + 0.2 * rng.normal(size=(n, steps, features))).astype("float32")


if __name__ == "__main__":
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    train, val, test = vitals(48, rng), vitals(48, rng), vitals(96, rng)
    val_x, test_x = mcar(val, 0.3, rng), mcar(test, 0.3, rng)
    imputer = SAITSLite(n_features=4, epochs=120)
    imputer.fit(mcar(train, 0.1, rng), (val_x, val))
    logger.info("validation MAE of the returned model %.4f", imputer.score((val_x, val)))
    logger.info("test MAE of the returned model %.4f", imputer.score((test_x, test)))
