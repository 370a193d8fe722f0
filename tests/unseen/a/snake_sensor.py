"""discuss.pytorch.org, "LSTM for sensor data: loss is not better than the mean, why?"
Symptom: the sequence is easy (sum of the inputs), the LSTM does not learn it, no error.
EXPECT: runs
TRUTH: The data is (batch, time, feature), and the LSTM was made without batch_first=True, so it runs
over the batch as the time axis. Set batch_first=True."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class SensorNet(nn.Module):
    def __init__(self, n_feat, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(n_feat, hidden, num_layers=1)  # CULPRIT
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1]).squeeze(-1)


def windows(n=256, t=10, f=3):
    x = torch.randn(n, t, f)
    y = x[:, :, 0].sum(1) / 3
    return x, y


x, y = windows()
net = SensorNet(3)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(25):
    for idx in torch.randperm(256).split(32):
        loss = nn.functional.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 8 == 0:
        print(epoch, loss.item())
print("final", nn.functional.mse_loss(net(x), y).item(), "variance", y.var().item())
