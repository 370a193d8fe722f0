"""WRONG. The log says the best model was found at some early epoch, but the model returned by fit has the validation loss of the last epoch, not the best one.
TRUTH: best_model_dict is a dict of references to the live parameters (state_dict shares their storage, a shallow copy of the dict does not help); deepcopy the state_dict.
THREAD: https://github.com/WenjieDu/PyPOTS/issues/667
"""
import copy
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_series(n, steps=24, feats=3):
    t = torch.arange(steps, dtype=torch.float32)
    phase = 2 * math.pi * torch.rand(n, 1, feats)
    freq = torch.tensor([1.0, 2.0, 3.0]).view(1, 1, feats)
    x = torch.sin(2 * math.pi * freq * t.view(1, -1, 1) / steps + phase)
    return x + 0.3 * torch.randn_like(x)


def mcar(x, rate=0.3):
    mask = (torch.rand_like(x) > rate).float()
    return x * mask, mask


def masked_mae(pred, target, mask):
    return ((pred - target).abs() * mask).sum() / (mask.sum() + 1e-12)


class GRUImputer(nn.Module):
    def __init__(self, feats=3, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(feats * 2, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(hidden * 2, feats)

    def forward(self, x, mask):
        h, _ = self.rnn(torch.cat([x, mask], dim=-1))
        return self.out(h)


class BaseNNImputer:
    def __init__(self, model, batch_size=16, epochs=40, patience=8, lr=1e-2):
        self.model, self.batch_size = model, batch_size
        self.epochs, self.patience = epochs, patience
        self.original_patience = patience
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.best_model_dict = None
        self.best_loss = float("inf")
        self.best_epoch = -1

    def _train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for x, mask, ori in loader:
            # artificially hide some of the observed values
            hide = (torch.rand_like(mask) > 0.2).float()
            pred = self.model(x * hide, mask * hide)
            ort_loss = masked_mae(pred, x, mask * hide)
            mit_loss = masked_mae(pred, x, mask * (1 - hide))
            loss = ort_loss + mit_loss
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(loader)

    @torch.no_grad()
    def validate(self, val):
        self.model.eval()
        x, mask, ori = val
        return masked_mae(self.model(x, mask), ori, 1 - mask).item()

    def fit(self, train_set, val):
        loader = DataLoader(train_set, batch_size=self.batch_size, shuffle=True)
        for epoch in range(self.epochs):
            train_loss = self._train_epoch(loader)
            val_loss = self.validate(val)
            if val_loss < self.best_loss:
                self.best_epoch = epoch
                self.best_loss = val_loss
                self.best_model_dict = self.model.state_dict().copy()  # CULPRIT
                self.patience = self.original_patience
            else:
                self.patience -= 1
            if epoch % 5 == 0:
                print(f"Epoch {epoch:03d} training loss {train_loss:.4f} validation MAE {val_loss:.4f}")
            if self.patience == 0:
                print("Exceeded the training patience. Terminating the training procedure...")
                break
        self.last_model_dict = copy.deepcopy(self.model.state_dict())
        self.model.load_state_dict(self.best_model_dict)
        self.model.eval()
        print(f"Finished training. The best model is from epoch#{self.best_epoch} with MAE {self.best_loss:.4f}")


def main():
    ori = make_series(16)
    x, mask = mcar(ori)
    val_ori = make_series(64)
    val_x, val_mask = mcar(val_ori)
    val = (val_x, val_mask, val_ori)
    imputer = BaseNNImputer(GRUImputer())
    imputer.fit(TensorDataset(x, mask, ori), val)
    restored = imputer.validate(val)
    print(f"MAE of the restored model {restored:.4f}")
    same_as_last = all(torch.equal(v, imputer.last_model_dict[k]) for k, v in imputer.model.state_dict().items())
    print("restored weights are those of the last epoch:", same_as_last)


if __name__ == "__main__":
    main()
