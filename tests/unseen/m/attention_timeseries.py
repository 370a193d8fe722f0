"""WRONG. Keeping the best model with copy.deepcopy raises "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment"; before the first training batch the same call works.
TRUTH: SeqSelfAttention.forward keeps the attention map, still attached to the graph, as an attribute of the module (only for plots); store attention.detach() instead.
THREAD: https://github.com/sktime/sktime/issues/10928
"""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SeqSelfAttention(nn.Module):
    def __init__(self, units, input_dim, reg_weight=1e-3):
        super().__init__()
        self.q = nn.Linear(input_dim, units)
        self.k = nn.Linear(input_dim, units)
        self.score = nn.Linear(units, 1)
        self.reg_weight = reg_weight
        self.attention = None

    def forward(self, x):
        h = torch.tanh(self.q(x).unsqueeze(2) + self.k(x).unsqueeze(1))
        intensity = self.score(h).squeeze(-1)
        attention = torch.softmax(intensity, dim=-1)
        self.attention = attention  # CULPRIT
        gram = attention @ attention.transpose(1, 2)
        eye = torch.eye(x.size(1))
        regularizer = self.reg_weight * (gram - eye).pow(2).mean()
        return attention @ x, regularizer


class TapNetLike(nn.Module):
    def __init__(self, channels=3, hidden=16, classes=3):
        super().__init__()
        self.rnn = nn.GRU(channels, hidden, batch_first=True)
        self.att = SeqSelfAttention(12, hidden)
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        h, _ = self.rnn(x)
        h, reg = self.att(h)
        return self.fc(self.dropout(h.mean(1))), reg


def make_data(n, length=20):
    y = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 6.28, length)
    freq = torch.tensor([1.0, 2.0, 3.0])[y].view(-1, 1, 1)
    phase = torch.rand(n, 1, 3)
    x = torch.sin(freq * t.view(1, -1, 1) + phase) + 0.1 * torch.randn(n, length, 3)
    return x, y


class Estimator:
    def __init__(self, epochs=5, lr=1e-2, batch=32):
        self.network = TapNetLike()
        self.epochs, self.lr, self.batch = epochs, lr, batch
        self.best_network, self.best_loss = copy.deepcopy(self.network), float("inf")

    def fit(self, x, y, xv, yv):
        optimizer = torch.optim.Adam(self.network.parameters(), lr=self.lr)
        for epoch in range(self.epochs):
            self.network.train()
            running = 0.0
            for xb, yb in zip(x.split(self.batch), y.split(self.batch)):
                logits, reg = self.network(xb)
                loss = F.cross_entropy(logits, yb) + reg
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                running += loss.item() * len(yb)
            running /= len(y)
            focus = self.network.att.attention.amax(-1).mean().item()
            print(f"epoch {epoch} loss {running:.4f} mean peak of attention {focus:.3f}")
            if running < self.best_loss:
                self.best_loss = running
                self.best_network = copy.deepcopy(self.network)
        print(f"validation accuracy {self.score(xv, yv):.3f}")
        return self

    @torch.no_grad()
    def score(self, x, y):
        self.best_network.eval()
        logits, _ = self.best_network(x)
        return (logits.argmax(1) == y).float().mean().item()


def main():
    x, y = make_data(192)
    xv, yv = make_data(96)
    Estimator().fit(x, y, xv, yv)


if __name__ == "__main__":
    main()
