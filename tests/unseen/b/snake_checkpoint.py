"""GitHub issue (transformers), "None of the inputs have requires_grad=True. Gradients will be None - after enabling checkpointing"
Symptom: only a warning; the checkpointed blocks are not trained, the loss still goes down a bit thanks to the head.
EXPECT: runs
TRUTH: Reentrant checkpointing only records the block if an input requires grad, and the first input (frozen features) does not.
Use use_reentrant=False (or make the input require grad)."""
import warnings
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

warnings.simplefilter("ignore")
torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, d), nn.Tanh())

    def forward(self, x):
        return self.f(x)


class Encoder(nn.Module):
    def __init__(self, d=12, n=2, save_memory=True):
        super().__init__()
        self.layers = nn.ModuleList([Layer(d) for _ in range(n)])
        self.save_memory = save_memory
        self.head = nn.Linear(d, 1)

    def run(self, layer, x):
        if self.save_memory:
            return checkpoint(layer, x, use_reentrant=True)  # CULPRIT
        return layer(x)

    def forward(self, x):
        for layer in self.layers:
            x = self.run(layer, x)
        return self.head(x)


x = torch.randn(300, 12)
y = (x[:, :1] * x[:, 1:2]).sign()
enc = Encoder()
opt = torch.optim.Adam(enc.parameters(), lr=1e-2)
for it in range(200):
    loss = (enc(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "first layer grad", enc.layers[0].f[0].weight.grad is not None)
