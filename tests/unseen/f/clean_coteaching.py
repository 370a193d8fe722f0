"""CORRECT. The networks return log_softmax and cross_entropy applies log_softmax a second time: log_softmax is idempotent, so the
loss is the same. The index of the small-loss samples is taken from .data, each network learns from the other one's selection.
THREAD: https://github.com/bhanML/Co-teaching/issues/4 (answered: applying log_softmax twice is the same as once)
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class MLP(nn.Module):
    def __init__(self, n_in=12, n_out=4, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.l1 = nn.Linear(n_in, 64)
        self.bn = nn.BatchNorm1d(64)
        self.l2 = nn.Linear(64, 64)
        self.l3 = nn.Linear(64, n_out)

    def forward(self, x):
        h = F.leaky_relu(self.bn(self.l1(x)), 0.01)
        h = F.leaky_relu(self.l2(h), 0.01)
        return F.log_softmax(self.l3(h), dim=1)


def loss_coteaching(y_1, y_2, t, forget_rate):
    loss_1 = F.cross_entropy(y_1, t, reduction='none')
    ind_1_sorted = np.argsort(loss_1.data.numpy())
    loss_2 = F.cross_entropy(y_2, t, reduction='none')
    ind_2_sorted = np.argsort(loss_2.data.numpy())

    num_remember = int((1 - forget_rate) * len(ind_1_sorted))
    ind_1_update = torch.from_numpy(ind_1_sorted[:num_remember])
    ind_2_update = torch.from_numpy(ind_2_sorted[:num_remember])
    loss_1_update = F.cross_entropy(y_1[ind_2_update], t[ind_2_update])
    loss_2_update = F.cross_entropy(y_2[ind_1_update], t[ind_1_update])
    return loss_1_update, loss_2_update


def make_data(n, noise, w):
    x = torch.randn(n, 12)
    clean = (x @ w).argmax(1)
    noisy = torch.where(torch.rand(n) < noise, torch.randint(0, 4, (n,)), clean)
    return x, noisy, clean


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


def main():
    torch.manual_seed(5)
    w = torch.randn(12, 4)
    x, y, _ = make_data(2000, 0.4, w)
    xt, _, yt = make_data(1000, 0., w)
    cnn1, cnn2 = MLP(seed=1), MLP(seed=2)
    optimizer1 = torch.optim.Adam(cnn1.parameters(), lr=2e-3)
    optimizer2 = torch.optim.Adam(cnn2.parameters(), lr=2e-3)
    rate_schedule = np.linspace(0, 0.3, 5).tolist() + [0.3] * 100
    for epoch in range(12):
        perm, total = torch.randperm(len(x)), 0.
        for i in range(0, len(x), 100):
            b = perm[i:i + 100]
            loss_1, loss_2 = loss_coteaching(cnn1(x[b]), cnn2(x[b]), y[b], rate_schedule[epoch])
            optimizer1.zero_grad()
            loss_1.backward()
            optimizer1.step()
            optimizer2.zero_grad()
            loss_2.backward()
            optimizer2.step()
            total += loss_1.item()
        if epoch % 2 == 1:
            print('Epoch %d loss %.4f test acc %.3f %.3f' % (epoch, total / 20, evaluate(cnn1, xt, yt), evaluate(cnn2, xt, yt)))


main()
