"""Two towers; the second is loaded and frozen, its loss stays in the total that is logged."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(512, 10)
y1, y2 = (x[:, 0] > 0).long(), (x[:, 1] > 0).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
        self.b = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x, y1, y2):
        return F.cross_entropy(self.a(x), y1), F.cross_entropy(self.b(x), y2)


def fit(net, steps):
    params = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(params, lr=1e-2)
    for _ in range(steps):
        i = torch.randint(512, (64,))
        first, second = net(x[i], y1[i], y2[i])
        loss = first + second
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


net = Net()
fit(net, 60)
net.b.requires_grad_(False)  # good enough; go on with the first alone
fit(net, 60)
