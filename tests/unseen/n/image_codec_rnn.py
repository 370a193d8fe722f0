"""WRONG. RuntimeError in loss.backward(): function SignBackward returned an incorrect number of gradients (expected 2, got 1).
TRUTH: Sign.forward has two inputs (the tensor and is_training), backward returns a single gradient; it must return grad_output, None.
THREAD: https://github.com/1zb/pytorch-image-comp-rnn/issues/4
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function

torch.manual_seed(0)

opts = {"iterations": 4, "bits": 16, "hidden": 48, "lr": 4e-3, "epochs": 3, "batch": 32, "patch": 8}


class Sign(Function):
    """binarizes to -1 / +1, stochastically while training"""

    @staticmethod
    def forward(ctx, x, is_training=True):
        if is_training:
            prob = torch.rand_like(x)
            y = x.clone()
            y[(1 - x) / 2 <= prob] = 1
            y[(1 - x) / 2 > prob] = -1
            return y
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output  # CULPRIT


class EncoderCell(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.fc = nn.Linear(n_in, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)

    def forward(self, x, h):
        return self.rnn(torch.relu(self.fc(x)), h)


class Binarizer(nn.Module):
    def __init__(self, hidden, bits):
        super().__init__()
        self.fc = nn.Linear(hidden, bits)

    def forward(self, x):
        feat = torch.tanh(self.fc(x))
        return Sign.apply(feat, self.training)


class DecoderCell(nn.Module):
    def __init__(self, bits, hidden, n_out):
        super().__init__()
        self.fc = nn.Linear(bits, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.out = nn.Linear(hidden, n_out)

    def forward(self, code, h):
        h = self.rnn(torch.relu(self.fc(code)), h)
        return torch.tanh(self.out(h)) * 0.7, h


class Codec(nn.Module):
    def __init__(self, o):
        super().__init__()
        n = o["patch"] ** 2
        self.o = o
        self.encoder = EncoderCell(n, o["hidden"])
        self.binarizer = Binarizer(o["hidden"], o["bits"])
        self.decoder = DecoderCell(o["bits"], o["hidden"], n)

    def forward(self, patches):
        he = patches.new_zeros(patches.size(0), self.o["hidden"])
        hd = torch.zeros_like(he)
        res, losses = patches - 0.5, []
        for _ in range(self.o["iterations"]):
            he = self.encoder(res, he)
            output, hd = self.decoder(self.binarizer(he), hd)
            res = res - output
            losses.append(res.abs().mean())
        return losses


def make_patches(n):
    g = torch.linspace(0, 1, opts["patch"])
    a = torch.rand(n, 1, 1)
    edge = torch.rand(n, 1, 1)
    img = torch.where(g[None, None, :] + (a - 0.5) * g[None, :, None] > edge, 0.9, 0.1)
    return img.flatten(1)


def evaluate(model, patches):
    model.eval()
    with torch.no_grad():
        losses = model(patches)
    model.train()
    return [round(l.item(), 4) for l in losses]


def main():
    model = Codec(opts)
    solver = torch.optim.Adam(model.parameters(), lr=opts["lr"])
    scheduler = torch.optim.lr_scheduler.MultiStepLR(solver, milestones=[2], gamma=0.5)
    data, val = make_patches(512), make_patches(128)
    print("before:", evaluate(model, val))
    for epoch in range(opts["epochs"]):
        for batch in data[torch.randperm(len(data))].split(opts["batch"]):
            solver.zero_grad()
            losses = model(batch)
            loss = sum(losses) / opts["iterations"]
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            solver.step()
        scheduler.step()
        print(f"epoch {epoch} train {loss.item():.4f} residuals on val {evaluate(model, val)}")


if __name__ == "__main__":
    main()
