"""Kaggle / Stack Overflow, "Binary classifier: all outputs between 0.5 and 0.73"
Symptom: churn model, loss is not falling under about 0.5 with easy data, probabilities never near 0.
EXPECT: runs
TRUTH: The network already ends in a sigmoid, and BCEWithLogitsLoss applies a second one.
Drop the Sigmoid layer (or use BCELoss)."""
import torch
from torch import nn, optim

torch.manual_seed(0)


def make_block(i, o, act):
    return nn.Sequential(nn.Linear(i, o), act())


def make_model(n_features):
    return nn.Sequential(
        make_block(n_features, 32, nn.ReLU),
        make_block(32, 16, nn.ReLU),
        make_block(16, 1, nn.Sigmoid),  # CULPRIT
    )


def make_data(n=400):
    x = torch.randn(n, 8)
    y = (x[:, 0] - x[:, 3] > 0).float().unsqueeze(1)
    return x, y


x, y = make_data()
model = make_model(8)
loss_fn = nn.BCEWithLogitsLoss()  # CULPRIT
opt = optim.Adam(model.parameters(), lr=0.01)
for epoch in range(150):
    pred = model(x)
    loss = loss_fn(pred, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 50 == 0:
        print(epoch, loss.item())
print("loss", loss.item())
