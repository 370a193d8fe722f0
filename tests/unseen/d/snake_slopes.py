"""pytorch/pytorch#16045
Symptom: The correct estimates of a straightforward linear regression are not found and the loss stays far from the optimum.
EXPECT: runs
TRUTH: yhat has shape [n, 1] and y has shape [n], which MSELoss broadcasts to [n, n]; compare with y.unsqueeze(1).
"""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class LinearModel(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.linear = nn.Linear(n_features, 1)

    def forward(self, x):
        return self.linear(x)


def simulate(sample_size):
    x = torch.randn((sample_size, 2))
    eps = torch.randn(sample_size)
    y = 10 + 9 * x[:, 0] - 2 * x[:, 1] + eps
    return x, y


def fit(model, loader, num_epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    loss_func = nn.MSELoss()
    history = []
    for epoch in range(num_epochs):
        total = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            yhat = model(xb)
            loss_val = loss_func(yhat, yb)  # CULPRIT
            loss_val.backward()
            optimizer.step()
            total += loss_val.item()
        history.append(total / len(loader))
        if epoch % 5 == 0:
            print("epoch %d loss %.3f" % (epoch, history[-1]))
    return history


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    x, y = simulate(400)
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    model = LinearModel(2)
    history = fit(model, loader, num_epochs=30, lr=0.05)
    print("last loss", round(history[-1], 3))
    print("weights", model.linear.weight.data, "bias", model.linear.bias.data)


if __name__ == "__main__":
    main()
