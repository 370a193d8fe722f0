"""discuss.pytorch.org, "Regression: model predicts zero for all negative values"
Symptom: temperatures below zero are never predicted, loss stays at about half of the variance.
EXPECT: runs
TRUTH: The helper puts a ReLU after every Linear, the last one too, so the output cannot be negative
and gets no gradient there. Leave the activation off after the output layer."""
import torch
import torch.nn as nn

torch.manual_seed(0)


def mlp(sizes):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        layers.append(nn.ReLU())  # CULPRIT
    return nn.Sequential(*layers)


class Weather:
    def __init__(self, n=365):
        day = torch.arange(n) / n
        self.x = torch.stack([torch.sin(6.283 * day), torch.cos(6.283 * day), torch.randn(n)], 1)
        self.y = (12 * self.x[:, 1] + 2 * self.x[:, 2]).unsqueeze(1) / 10

    def batches(self, bs=73):
        for idx in torch.randperm(len(self.x)).split(bs):
            yield self.x[idx], self.y[idx]


data = Weather()
net = mlp([3, 32, 32, 1])
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(40):
    for xb, yb in data.batches():
        loss = ((net(xb) - yb) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", loss.item(), "var", data.y.var().item(), "min pred", net(data.x).min().item())
