"""L2-SP over all parameters of a loaded model; layers are unfrozen from the top."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(512, 10)
y = (x[:, :3].sum(1) > 0).long()
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
torch.save(net.state_dict(), "p22.pt")

net.load_state_dict(torch.load("p22.pt"))
start = torch.load("p22.pt")
net[0].requires_grad_(False)  # the first layer stays as it was pretrained
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.05, momentum=0.9)
for epoch in range(5):
    for i in torch.randperm(512).split(64):
        ce = F.cross_entropy(net(x[i]), y[i])
        sp = sum((p - start[k]).square().sum() for k, p in net.named_parameters())
        loss = ce + 0.01 * sp
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, ce.item(), sp.item())
