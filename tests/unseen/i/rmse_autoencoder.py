"""WRONG. The loss is nan from the second step on; anomaly detection says: Function 'MseLossBackward0' returned nan values in its 0th output.
TRUTH: the RMSE is torch.sqrt(criterion(..)), and where prediction and target agree exactly (a channel that is 0 in both) the sqrt of 0 has no finite gradient; add a small eps inside the sqrt.
THREAD: https://discuss.pytorch.org/t/function-mselossbackward-returned-nan-values-in-its-0th-output/94875
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class RMSELoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.criterion = nn.MSELoss()

    def forward(self, x, y):
        loss = torch.sqrt(self.criterion(x, y))  # CULPRIT
        return loss


class SensorAutoencoder(nn.Module):
    def __init__(self, n_channels=6, length=20, hidden=16):
        super().__init__()
        self.n_channels, self.length = n_channels, length
        connected = torch.ones(n_channels, 1)
        connected[4] = 0.0
        self.register_buffer('connected', connected)
        self.encoder = nn.Sequential(
            nn.Linear(n_channels * length, 64), nn.ReLU(),
            nn.Linear(64, hidden))
        self.decoder = nn.Sequential(
            nn.Linear(hidden, 64), nn.ReLU(),
            nn.Linear(64, n_channels * length))

    def forward(self, x):
        code = self.encoder(x.flatten(1))
        out = self.decoder(code)
        return F.relu(out).view(-1, self.n_channels, self.length) * self.connected


def read_sensors(n, n_channels=6, length=20):
    t = torch.arange(length).float()
    amp = torch.rand(n, n_channels, 1) + 0.5
    phase = torch.rand(n, 1, 1) * 6.28
    x = amp * (1 + torch.sin(0.6 * t + phase + torch.arange(n_channels).view(1, -1, 1)))
    x[:, 4] = 0.0  # not connected in this campaign
    return x


def train(model, loss_fn, epochs=12, batch=32):
    data = read_sensors(640)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        total = 0.0
        perm = torch.randperm(len(data))
        for i in range(0, len(data), batch):
            x = data[perm[i:i + batch]]
            out = model(x)
            loss = 0
            for c in range(model.n_channels):
                loss = loss + loss_fn(out[:, c], x[:, c])
            loss = loss / model.n_channels
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 2:
            print('epoch', epoch, 'rmse %.4f' % (total / (len(data) // batch)))


if __name__ == '__main__':
    model = SensorAutoencoder()
    train(model, RMSELoss())
    with torch.no_grad():
        x = read_sensors(100)
        print('test rmse', (model(x) - x).pow(2).mean().sqrt().item())
