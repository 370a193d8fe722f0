"""IBM/aihwkit#446
Symptom: The loss of the first examples decreases for a few iterations, then increases again, then decreases, and so on.
EXPECT: runs
TRUTH: the gradients of all iterations add up; call opt.zero_grad() once per iteration.
"""
import torch
from torch import nn
from torch.nn.functional import mse_loss
from torch.optim import SGD


class SimulatedLinear(nn.Module):
    def __init__(self, in_features, out_features, out_noise=0.005):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features).uniform_(-0.5, 0.5))
        self.bias = nn.Parameter(torch.zeros(out_features))
        self.out_noise = out_noise

    def forward(self, x):
        out = x @ self.weight.t() + self.bias
        if self.training:
            out = out + self.out_noise * torch.randn_like(out)
        return out


def build_model():
    return nn.Sequential(
        SimulatedLinear(4, 3),
        SimulatedLinear(3, 3),
        SimulatedLinear(3, 2),
    )


def prepare_data():
    x = torch.tensor([[0.1, 0.2, 0.4, 0.3], [0.2, 0.1, 0.1, 0.3], [0.6, 0.1, 0.5, 0.2]])
    y = torch.tensor([[1.0, 0.5], [0.7, 0.3], [0.9, 0.8]])
    return x, y


def run(epochs=60, lr=0.1):
    x, y = prepare_data()
    model = build_model()
    opt = SGD(model.parameters(), lr=lr)
    losses = []
    for epoch in range(epochs):
        pred = model(x)
        loss = mse_loss(pred, y)
        loss.backward()  # CULPRIT
        opt.step()  # CULPRIT
        losses.append(loss.item())
        if epoch % 5 == 0:
            print("Loss error: {:.16f}".format(loss.item()))
    return losses


if __name__ == "__main__":
    torch.manual_seed(10)
    torch.set_num_threads(1)
    losses = run()
    rises = sum(b > a + 0.01 for a, b in zip(losses, losses[1:]))
    print("steps with a clear rise:", rises, " largest late loss:", round(max(losses[30:]), 4))
