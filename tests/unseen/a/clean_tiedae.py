"""discuss.pytorch.org, "Tied weights in autoencoder: use .t() of the encoder weight?"
Symptom: none, asker wonders if one Parameter may be used twice.
EXPECT: runs
TRUTH: Correct. F.linear with the transposed encoder weight ties the weights; both uses add to one gradient."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TiedAE(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.enc = nn.Linear(d, h)
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        z = torch.tanh(self.enc(x))
        return F.linear(z, self.enc.weight.t(), self.bias)


class Data:
    def __init__(self):
        self.x = torch.tanh(torch.randn(300, 4)) @ torch.randn(4, 20) / 2

    def __iter__(self):
        yield from self.x[torch.randperm(300)].split(50)


data = Data()
ae = TiedAE(20, 6)
opt = torch.optim.Adam(ae.parameters(), lr=5e-3)
first = F.mse_loss(ae(data.x), data.x).item()
for epoch in range(60):
    for batch in data:
        opt.zero_grad()
        F.mse_loss(ae(batch), batch).backward()
        opt.step()
print("loss", first, "->", F.mse_loss(ae(data.x), data.x).item())
