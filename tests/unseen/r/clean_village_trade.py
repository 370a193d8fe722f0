"""Graph attention over a trade network of villages, predicting whether each village prospers.

TRUTH: a village without any trade has a row of adjacency that is all False, so its softmax runs over nothing but -inf and gives NaN, which spreads to the loss and by the shared weights to everything; loss NaN from step 0; let each village attend to itself.
"""
import torch
from torch import nn
import torch.nn.functional as F


class TradeAttention(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.lin = nn.Linear(n_in, n_out, bias=False)
        self.src = nn.Linear(n_out, 1, bias=False)
        self.dst = nn.Linear(n_out, 1, bias=False)

    def forward(self, x, adjacency):
        h = self.lin(x)
        score = F.leaky_relu(self.src(h) + self.dst(h).T, 0.2)
        score = torch.where(adjacency | torch.eye(len(x), dtype=torch.bool), score, float("-inf"))
        return torch.softmax(score, dim=1) @ h


class VillageNet(nn.Module):
    def __init__(self, n_in=6, width=16):
        super().__init__()
        self.first = TradeAttention(n_in, width)
        self.second = TradeAttention(width, width)
        self.skip = nn.Linear(n_in, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x, adjacency):
        h = F.elu(self.first(x, adjacency))
        h = F.elu(self.second(h, adjacency) + self.skip(x))
        return self.out(h).squeeze(-1)


def region(n=120, links=200):
    pos = torch.rand(n, 2)
    a = torch.randint(0, n, (links,))
    b = torch.cdist(pos[a], pos).topk(4, largest=False).indices[torch.arange(links), torch.randint(1, 4, (links,))]
    adjacency = torch.zeros(n, n, dtype=torch.bool)
    adjacency[a, b] = True
    adjacency |= adjacency.T.clone()
    x = torch.randn(n, 6)
    wealth = x[:, 0] + (adjacency.float() @ x[:, 1]) / adjacency.sum(1).clamp_min(1)
    return x, adjacency, (wealth > 0).float()


def main():
    torch.manual_seed(18)
    x, adjacency, y = region()
    print("villages without trade:", int((~adjacency.any(1)).sum()))
    net = VillageNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=1e-4)
    known = torch.rand(len(y)) < 0.7
    for step in range(120):
        logits = net(x, adjacency)
        loss = F.binary_cross_entropy_with_logits(logits[known], y[known])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(step, loss.item())
    print("final", loss.item(), "accuracy", ((net(x, adjacency) > 0) == y.bool())[~known].float().mean().item())


if __name__ == "__main__":
    main()
