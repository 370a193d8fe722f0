"""WRONG. backward() raises 'element 0 of tensors does not require grad' although both angles were given requires_grad; with y1 = cosa + cosb it had worked.
TRUTH: torch.tensor([cosa, cosb]) copies the values and drops the history; torch.stack([cosa, cosb]) keeps the gradient of a and b.
THREAD: https://discuss.pytorch.org/t/gradient-is-lost-when-use-torch-tensor-t1-t2/23261
"""
import math

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class TwoAngles(nn.Module):
    """Maps two learnable angles over a fixed mixing matrix."""

    def __init__(self, mat):
        super().__init__()
        self.a = nn.Parameter(torch.tensor(0.3))
        self.b = nn.Parameter(torch.tensor(0.2))
        self.register_buffer('mat', mat)

    def direction(self):
        cosa = torch.cos(self.a)
        cosb = torch.cos(self.b)
        return torch.tensor([cosa, cosb])  # CULPRIT

    def forward(self, scale):
        y2 = self.direction()
        y2 = torch.matmul(y2, self.mat)
        return scale.unsqueeze(1) * y2.unsqueeze(0)


def make_data(mat, a, b, n=200):
    scale = torch.rand(n) * 2 + 0.5
    true = torch.tensor([math.cos(a), math.cos(b)]) @ mat
    obs = scale.unsqueeze(1) * true.unsqueeze(0)
    return scale, obs + 0.01 * torch.randn_like(obs)


def fit(model, scale, obs, steps=400):
    optimizer = optim.Adam(model.parameters(), lr=0.02)
    criterion = nn.MSELoss()
    for step in range(steps):
        optimizer.zero_grad()
        pred = model(scale)
        loss = criterion(pred, obs)
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print('step', step, 'loss', loss.item())
    return model


def main():
    mat = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    scale, obs = make_data(mat, a=1.1, b=0.7)
    model = TwoAngles(mat)
    for name, p in model.named_parameters():
        print(name, p.item(), 'requires_grad', p.requires_grad)
    fit(model, scale, obs)
    print('a', model.a.item(), 'a grad', model.a.grad)
    print('b', model.b.item(), 'b grad', model.b.grad)


if __name__ == '__main__':
    main()
