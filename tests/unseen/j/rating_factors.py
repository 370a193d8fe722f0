# kind: zero_grad_before_step
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)
USERS, ITEMS, RANK = 80, 60, 4


def ratings(n=3000):
    u_true, i_true = torch.randn(USERS, RANK), torch.randn(ITEMS, RANK)
    u, i = torch.randint(0, USERS, (n,)), torch.randint(0, ITEMS, (n,))
    r = (u_true[u] * i_true[i]).sum(1) / RANK ** 0.5
    return TensorDataset(u, i, r + 0.1 * torch.randn(n))


class Factors(nn.Module):
    def __init__(self, rank=8):
        super().__init__()
        self.user = nn.Embedding(USERS, rank)
        self.item = nn.Embedding(ITEMS, rank)
        self.bias = nn.Embedding(ITEMS, 1)
        for table, std in ((self.user, 0.3), (self.item, 0.3), (self.bias, 0.01)):
            nn.init.normal_(table.weight, std=std)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(1) + self.bias(i).squeeze(1)


class Callback:
    def on_batch_begin(self, trainer): ...
    def on_backward_end(self, trainer): ...
    def on_epoch_end(self, trainer, loss): ...


class GradientReset(Callback):
    def on_backward_end(self, trainer):  # CULPRIT
        trainer.opt.zero_grad(set_to_none=False)


class ClipGradients(Callback):
    def __init__(self, limit):
        self.limit = limit

    def on_backward_end(self, trainer):
        nn.utils.clip_grad_norm_(trainer.model.parameters(), self.limit)


class Report(Callback):
    def on_epoch_end(self, trainer, loss):
        print(f"epoch {trainer.epoch} rmse {loss ** 0.5:.4f}")


class Trainer:
    def __init__(self, model, callbacks, lr=0.02):
        self.model, self.callbacks = model, callbacks
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def fire(self, event, *args):
        for cb in self.callbacks:
            getattr(cb, event)(self, *args)

    def fit(self, loader, epochs):
        for self.epoch in range(epochs):
            total = 0.0
            for u, i, r in loader:
                self.fire("on_batch_begin")
                loss = F.mse_loss(self.model(u, i), r)
                loss.backward()
                self.fire("on_backward_end")
                self.opt.step()
                total += loss.item()
            self.fire("on_epoch_end", total / len(loader))


data = DataLoader(ratings(), batch_size=100, shuffle=True)
Trainer(Factors(), [ClipGradients(1.0), GradientReset(), Report()]).fit(data, epochs=7)
