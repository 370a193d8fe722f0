"""CORRECT. A module holds a bare nn.Parameter beside a submodule inside a ModuleList; it does not appear in the printed model but it is registered and trains (asked whether it is lost; it is not).
THREAD: https://github.com/pytorch/pytorch/issues/4761
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class AnotherModule(nn.Module):
    def __init__(self, state_len, hidden=32):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(state_len * 2, hidden), nn.Linear(hidden, state_len)])

    def forward(self, pair):
        return self.layers[1](F.relu(self.layers[0](pair)))


class MyModule(nn.Module):
    """one round of messages on a complete graph, with a learned offset of the state"""

    def __init__(self, state_len):
        super().__init__()
        self.bias = nn.Parameter(torch.ones(state_len))
        self.m = AnotherModule(state_len)

    def forward(self, states):
        n = states.size(1)
        a = states.unsqueeze(2).expand(-1, n, n, -1)
        b = states.unsqueeze(1).expand(-1, n, n, -1)
        messages = self.m(torch.cat([a, b], dim=-1))
        off_diagonal = 1 - torch.eye(n).view(1, n, n, 1)
        return torch.tanh(states + (messages * off_diagonal).sum(2) / (n - 1) + self.bias)


class TopModule(nn.Module):
    def __init__(self, in_dim=3, state_len=8, rounds=2):
        super().__init__()
        self.embed = nn.Linear(in_dim, state_len)
        self.layers = nn.ModuleList([MyModule(state_len) for _ in range(rounds)])
        self.readout = nn.Linear(state_len, 1)

    def forward(self, x):
        states = self.embed(x)
        for layer in self.layers:
            states = layer(states)
        return self.readout(states).sum(dim=1).squeeze(-1)


def particles(n, k=5):
    x = torch.randn(n, k, 3)
    d = (x.unsqueeze(2) - x.unsqueeze(1)).pow(2).sum(-1)
    return x, torch.exp(-d / 2).sum(dim=(1, 2)) - k


def main():
    model = TopModule()
    print(model)
    print('parameters:', [n for n, _ in model.named_parameters() if 'bias' in n and 'm.' not in n])
    before = [layer.bias.detach().clone() for layer in model.layers]
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for it in range(400):
        x, y = particles(64)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 100 == 99:
            print('iteration', it + 1, 'loss %.4f' % loss.item())
    for b, layer in zip(before, model.layers):
        print('change of the bias %.4f' % (b - layer.bias.detach()).abs().max())


if __name__ == '__main__':
    main()
