"""Stack Overflow, "Loss is nan from the very first iteration (tabular data)"
Symptom: nan at once, lower learning rates do not help.
EXPECT: runs
TRUTH: One column is constant, its standard deviation is 0 and standardising gives 0/0 = nan in the inputs.
Drop such columns or clamp the std (std.clamp_min(1e-8))."""
import torch
import torch.nn as nn

torch.manual_seed(0)
COLUMNS = ["age", "income", "country", "visits", "score"]


def read_csv(n=300):
    t = torch.randn(n, 5)
    t[:, 2] = 49.0
    y = 0.5 * t[:, 0] - t[:, 4]
    return t, y.unsqueeze(1)


class Scaler:
    def fit(self, t):
        self.mean = t.mean(0)
        self.std = t.std(0)  # CULPRIT
        return self

    def transform(self, t):
        return (t - self.mean) / self.std  # CULPRIT


raw, y = read_csv()
train, test = raw[:240], raw[240:]
scaler = Scaler().fit(train)
x = scaler.transform(train)
model = nn.Sequential(nn.Linear(len(COLUMNS), 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(60):
    pred = model(x)
    loss = nn.functional.mse_loss(pred, y[:240])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print("epoch", epoch, "loss", loss.item())
print("loss", loss.item())
