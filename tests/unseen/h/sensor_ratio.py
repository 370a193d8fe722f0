"""WRONG. The gradients are NaN although torch.where replaces the 0/0 values with a constant.
TRUTH: The division by the zero counts happens before torch.where, whose backward multiplies the zero gradient with the infinite derivative of the unselected branch; make the denominator safe before dividing.
THREAD: https://github.com/pytorch/pytorch/issues/16317
"""
import torch
import torch.nn as nn

torch.manual_seed(0)

n_stations, n_hours, n_feat = 40, 24, 5


class HourlyMean(nn.Module):
    """averages the encoded readings of an hour; hours may have no readings"""

    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(n_in, n_hidden), nn.Tanh())

    def forward(self, readings, present):
        # readings (B, H, R, F), present (B, H, R)
        h = self.encode(readings) * present.unsqueeze(-1)
        x = h.sum(2)
        n = present.sum(2, keepdim=True)
        y = x / n  # CULPRIT
        y = torch.where(n == 0, torch.zeros_like(y), y)
        return y


class Forecaster(nn.Module):
    def __init__(self, n_in, n_hidden=16):
        super().__init__()
        self.pool = HourlyMean(n_in, n_hidden)
        self.rnn = nn.GRU(n_hidden, n_hidden, batch_first=True)
        self.head = nn.Linear(n_hidden, 1)

    def forward(self, readings, present):
        y = self.pool(readings, present)
        out, _ = self.rnn(y)
        return self.head(out).squeeze(-1)


def make_stations(n, max_readings=4):
    t = torch.arange(n_hours).float()
    phase = torch.rand(n, 1) * 6.28
    level = torch.sin(t[None] / 24 * 6.28 + phase)
    mix = torch.linspace(-1, 1, n_feat)
    readings = level[:, :, None, None] * mix + 0.2 * torch.randn(n, n_hours, max_readings, n_feat)
    count = torch.randint(0, max_readings + 1, (n, n_hours))
    present = (torch.arange(max_readings)[None, None] < count.unsqueeze(-1)).float()
    target = torch.roll(level, -1, dims=1)
    return readings, present, target


train_set = make_stations(n_stations * 6)
valid_set = make_stations(n_stations)

model = Forecaster(n_feat)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()


def run_epoch(data, train=True, bs=40):
    readings, present, target = data
    total = 0.0
    for i in range(0, len(target), bs):
        with torch.set_grad_enabled(train):
            pred = model(readings[i:i + bs], present[i:i + bs])
            loss = criterion(pred[:, :-1], target[i:i + bs, :-1])
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * len(pred)
    return total / len(target)


for epoch in range(12):
    train_loss = run_epoch(train_set, True)
    valid_loss = run_epoch(valid_set, False)
    if epoch % 3 == 2:
        print('epoch %2d  train %.4f  valid %.4f' % (epoch, train_loss, valid_loss))
