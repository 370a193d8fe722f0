"""WRONG. Without retain_graph=True the author got "backward through the graph a second time"; with it, the second batch stops with "one of the variables needed for gradient computation has been modified by an inplace operation".
TRUTH: h0, c0 of the previous batch are carried over with their graph; detach them between the batches (and drop retain_graph).
THREAD: https://blog.youkuaiyun.com/windhawk_fly/article/details/143405685
"""
import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

EPOCH = 3
batch_size = 8
seq_len = 12
embedding_dim = 3
hidden_dim = 16
num_layers = 2


def make_load_curve(n_hours=8 * 12 * 10 + 1):
    t = torch.arange(n_hours, dtype=torch.float32)
    daily = torch.sin(2 * math.pi * t / 24)
    weekly = torch.cos(2 * math.pi * t / 168)
    noise = 0.05 * torch.randn(n_hours)
    return torch.stack([daily + noise, weekly, 0.5 * daily * weekly], dim=1)


def make_stateful_batches(series):
    # every row of the batch continues the same row of the batch before
    n_steps = (series.size(0) - 1) // batch_size
    x = series[:n_steps * batch_size].view(batch_size, n_steps, embedding_dim)
    y = series[1:n_steps * batch_size + 1].view(batch_size, n_steps, embedding_dim)
    xs = torch.cat(x.split(seq_len, dim=1), dim=0)
    ys = torch.cat(y.split(seq_len, dim=1), dim=0)
    return TensorDataset(xs, ys)


class LoadLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, num_layers, batch_first=True)
        self.norm = nn.LayerNorm(hidden_dim)
        self.fc = nn.Linear(hidden_dim, embedding_dim)

    def forward(self, x, h, c):
        out, (h, c) = self.lstm(x, (h, c))
        return self.fc(self.norm(out)), (h, c)


def init_state():
    h0 = torch.zeros(num_layers, batch_size, hidden_dim)
    c0 = torch.zeros(num_layers, batch_size, hidden_dim)
    return h0, c0


@torch.no_grad()
def evaluate(net, loader, loss_fn):
    net.eval()
    h, c = init_state()
    total = 0.0
    for x, y in loader:
        pred, (h, c) = net(x, h, c)
        total += loss_fn(pred.reshape(-1, embedding_dim), y.reshape(-1, embedding_dim)).item()
    net.train()
    return total / len(loader)


def main():
    dataset = make_stateful_batches(make_load_curve())
    data_loader = DataLoader(dataset, batch_size=batch_size, shuffle=False, drop_last=True)
    batch_count = len(data_loader)
    lstm = LoadLSTM()
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(lstm.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)

    for epoch in range(EPOCH):
        batch_num = 0
        h0, c0 = init_state()
        for batch in data_loader:
            optimizer.zero_grad()
            output, (h0, c0) = lstm(batch[0], h0, c0)  # CULPRIT
            loss = loss_fn(output.reshape(-1, embedding_dim), batch[1].reshape(-1, embedding_dim))
            loss.backward(retain_graph=True)
            nn.utils.clip_grad_norm_(lstm.parameters(), 1.0)
            optimizer.step()
            batch_num += 1
            if batch_num % min(10, batch_count // 2) == 0:
                print(f'epoch {epoch} : batch {batch_num} : {loss.item():.4f}')
        scheduler.step()
        print(f'epoch {epoch} eval {evaluate(lstm, data_loader, loss_fn):.4f}')


if __name__ == '__main__':
    main()
