"""Stack Overflow, "RuntimeError: expected scalar type Long but found Float in cross entropy"
Symptom: raises in the loss; the labels come from a numpy array together with the features.
EXPECT: raises RuntimeError
TRUTH: The class labels are cut out of a float array and stay floating point; cross entropy wants integer class
indices. Convert with .long() where the labels are split off."""
import numpy as np
import torch
import torch.nn as nn

rng = np.random.RandomState(0)
torch.manual_seed(0)


def fake_csv(n):
    feats = rng.randn(n, 4)
    lab = feats[:, :3].argmax(1)
    return np.concatenate([feats, lab[:, None]], axis=1).astype(np.float32)


def split_columns(table):
    table = torch.from_numpy(table)
    x = table[:, :-1]
    y = table[:, -1]  # CULPRIT
    return x, y


class Wine(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 20), nn.Tanh(), nn.Linear(20, 3))

    def forward(self, x):
        return self.net(x)


x, y = split_columns(fake_csv(150))
model = Wine()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(40):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
