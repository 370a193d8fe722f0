"""WRONG. After retain_graph=True was added against 'backward through the graph a second time', the error is: one of the variables needed for gradient computation has been modified by an inplace operation.
TRUTH: the LSTM's state (h0, c0) is carried from batch to batch with its graph, so every backward reaches into older batches whose weights were stepped; detach the states after each batch (and drop retain_graph).
THREAD: https://blog.youkuaiyun.com/windhawk_fly/article/details/143405685
"""
import math
import torch
from torch import nn

EPOCH = 4
batch_size = 16
seq_len = 12
embedding_dim = 6
hidden_dim = 32
num_layers = 2

torch.manual_seed(2024)


def make_series(n=2000):
    t = torch.arange(n).float()
    cols = []
    for k in range(embedding_dim):
        cols.append(torch.sin(2 * math.pi * t / (20 + 7 * k)) + 0.05 * torch.randn(n))
    series = torch.stack(cols, dim=1)
    return (series - series.mean(0)) / series.std(0)


def windows(series):
    xs, ys = [], []
    for s in range(0, len(series) - seq_len - 1, seq_len):
        xs.append(series[s:s + seq_len])
        ys.append(series[s + 1:s + seq_len + 1])
    x, y = torch.stack(xs), torch.stack(ys)
    keep = len(x) // batch_size * batch_size
    return x[:keep], y[:keep]


class Lstm(nn.Module):
    def __init__(self, input_dim, hidden, layers):
        super().__init__()
        self.lstm = nn.LSTM(input_dim, hidden, layers, batch_first=True)
        self.fc = nn.Linear(hidden, input_dim)

    def forward(self, x, h, c):
        out, (h, c) = self.lstm(x, (h, c))
        return self.fc(out), (h, c)


series = make_series()
split = int(len(series) * 0.8)
x_train, y_train = windows(series[:split])
x_test, y_test = windows(series[split:])
data_loader = [(x_train[i::len(x_train) // batch_size], y_train[i::len(x_train) // batch_size])
               for i in range(len(x_train) // batch_size)]
batch_count = len(data_loader)
print('batches', batch_count, 'of', data_loader[0][0].shape)

lstm = Lstm(embedding_dim, hidden_dim, num_layers)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(lstm.parameters(), lr=0.005)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.8)

for epoch in range(EPOCH):
    batch_num = 0
    lstm.train()
    h0 = torch.randn((num_layers, batch_size, hidden_dim), requires_grad=False)
    c0 = torch.randn((num_layers, batch_size, hidden_dim), requires_grad=False)
    for batch in data_loader:
        optimizer.zero_grad()
        output, (h0, c0) = lstm(batch[0], h0, c0)  # CULPRIT
        loss = loss_fn(output.reshape(-1, embedding_dim), batch[1].reshape(-1, embedding_dim))
        loss.backward(retain_graph=True)
        optimizer.step()
        batch_num += 1
        if batch_num % min(10, batch_count // 2) == 0:
            print(f'epoch {epoch} : batch {batch_num} : {loss.item():.4f}')
    scheduler.step()

lstm.eval()
with torch.no_grad():
    z = torch.zeros(num_layers, len(x_test), hidden_dim)
    pred, _ = lstm(x_test, z, z.clone())
    print('test mse %.4f' % loss_fn(pred, y_test).item())
