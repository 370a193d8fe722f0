"""Fine-tuning with L2-SP / EWC over all named parameters, the embedding frozen."""
import copy
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.body = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.head = nn.Linear(32, 4)

    def forward(self, ids):
        return self.head(self.body(self.embed(ids).mean(1)))


def train(net, label, steps, anchor=None):
    params = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(params, lr=1e-2)
    for step in range(steps):
        ids = torch.randint(20, (64, 6))
        loss = F.cross_entropy(net(ids), label(ids))
        if anchor is not None:
            for name, p in net.named_parameters():
                loss = loss + 0.1 * F.mse_loss(p, anchor[name], reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


net = Net()
train(net, lambda ids: ids.sum(1) % 4, 100)
anchor = {k: p.detach().clone() for k, p in net.named_parameters()}
net.embed.requires_grad_(False)
train(net, lambda ids: ids[:, 0] % 4, 100, anchor)
