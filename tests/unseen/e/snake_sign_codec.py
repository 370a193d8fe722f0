"""1zb/pytorch-image-comp-rnn#4, "RuntimeError: function SignBackward returned an incorrect number of gradients"
Symptom: loss.backward() raises RuntimeError: function SignBackward returned an incorrect number of gradients (expected 2, got 1).
EXPECT: raises RuntimeError
TRUTH: forward of the binarizer takes two inputs (x, is_training), backward must return a gradient for each: return grad_output, None.
"""
import torch
import torch.nn as nn
from torch.autograd import Function
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
torch.set_num_threads(1)


class Sign(Function):
    """Variable rate image compression: stochastic binarisation."""

    @staticmethod
    def forward(ctx, input, is_training=True):
        if is_training:
            prob = input.new(input.size()).uniform_()
            x = input.clone()
            x[(1 - input) / 2 <= prob] = 1
            x[(1 - input) / 2 > prob] = -1
            return x
        return input.sign()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output  # CULPRIT


class Binarizer(nn.Module):
    def __init__(self, in_dim, bits):
        super().__init__()
        self.fc = nn.Linear(in_dim, bits, bias=False)

    def forward(self, x):
        return Sign.apply(torch.tanh(self.fc(x)), self.training)


class Codec(nn.Module):
    def __init__(self, pixels=64, hidden=64, bits=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU())
        self.binarizer = Binarizer(hidden, bits)
        self.decoder = nn.Sequential(nn.Linear(bits, hidden), nn.ReLU(), nn.Linear(hidden, pixels), nn.Tanh())

    def forward(self, x):
        return self.decoder(self.binarizer(self.encoder(x)))


def make_patches(n):
    phase = 6.28 * torch.rand(n, 2, 1)
    t = torch.arange(8).float()
    rows, cols = torch.sin(0.7 * t + phase[:, 0]), torch.cos(0.5 * t + phase[:, 1])
    return (rows.unsqueeze(2) * cols.unsqueeze(1)).view(n, 64) * 0.9


def train(model, loader, iterations=8, epochs=8):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for (patches,) in loader:
            res = patches
            losses = []
            for _ in range(2):
                out = model(res)
                res = res - out
                losses.append(res.abs().mean())
            loss = sum(losses) / len(losses)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch %d loss %.4f" % (epoch, total / len(loader)))


if __name__ == "__main__":
    loader = DataLoader(TensorDataset(make_patches(1500)), batch_size=50, shuffle=True)
    train(Codec(), loader)
