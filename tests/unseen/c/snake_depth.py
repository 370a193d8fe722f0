"""GitHub issue (transformers-like repo), "Parameter count does not depend on num_layers"
Symptom: an 8 layer model has as many parameters as a 1 layer model.
EXPECT: runs
TRUTH: [layer] * n repeats the same module object, so all layers share their weights. Build a new one per position (comprehension or deepcopy)."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, d)

    def forward(self, x):
        return torch.tanh(self.lin(x))


class Stack(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.layers = nn.ModuleList([Layer(d)] * n)  # CULPRIT

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def size(m):
    return sum(p.numel() for p in m.parameters())


for n in (1, 4):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 16), Stack(16, n), nn.Linear(16, 1))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    x = torch.rand(300, 3) * 4 - 2
    y = torch.sin(2 * x[:, :1]) * torch.cos(2 * x[:, 1:2])
    for it in range(200):
        loss = (model(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("layers", n, "parameters", size(model), "loss", loss.item())
